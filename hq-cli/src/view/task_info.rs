use hq_core::{JobDetail, TaskInfo, TaskState, WallTime};
use jiff::tz::TimeZone;

use super::{
    TaskRow, body, final_paths, host_names,
    job_info::{retry_rules, time_left},
    locate,
    program::lossy,
    program_cells::{command, environment, pin},
    requests::request_lines,
    state::task_color,
    task_list::{error_of, task_makespan},
};
use crate::output::{Cell, Table, date_local};

/// Longest error that is shown whole.
const ERROR_MAX: usize = 240;
/// What is left of a longer one.
const ERROR_CUT: usize = 237;

/// All about a task, as it is at `now`; dates by the clock of `zone`. A long error is cut unless `verbose`.
pub(crate) fn task_details(
    detail: &JobDetail,
    row: &TaskRow<'_>,
    now: WallTime,
    zone: &TimeZone,
    verbose: bool,
) -> Table {
    let run = row.info.filter(|info| info.state != TaskState::Waiting && info.started.is_some());
    let found = locate(detail, row.number);
    let spec = found.and_then(|(submit, index)| body(submit).program(submit, index));
    let paths = run
        .zip(spec.as_ref())
        .map(|(info, spec)| final_paths(spec, detail.info.id, &detail.server_uid, row.number, info.instance));
    let mut table = Table::vertical();
    table.entry("Task ID", row.number.to_string());
    table.entry("State", Cell::colored(row.state.label(), task_color(row.state)));
    table.entry("Command", spec.as_ref().map(command).unwrap_or_default());
    table.entry("Environment", spec.as_ref().map(environment).unwrap_or_default());
    let hosts = run.map(|info| host_names(detail, info)).unwrap_or_default();
    table.entry("Worker", hosts.into_iter().map(str::to_owned).collect::<Cell>());
    let (start, end) = run.map(|info| dates(info, zone)).unwrap_or_default();
    table.entry("Start", start);
    table.entry("End", end);
    table.entry("Makespan", run.map(|info| task_makespan(info, now)).unwrap_or_default());
    table.entry("Workdir", paths.as_ref().map(|paths| lossy(&paths.cwd)).unwrap_or_default());
    table.entry("Stdout", paths.as_ref().map(|paths| paths.stdout.label()).unwrap_or_default());
    table.entry("Stderr", paths.as_ref().map(|paths| paths.stderr.label()).unwrap_or_default());
    if let Some((submit, index)) = found {
        let profile = submit.profile(index);
        table.entry("Time limit", Cell::or_none(profile.time_limit));
        table.entry("Resources", request_lines(profile).into_iter().collect::<Cell>());
        table.entry("Priority", profile.priority.to_string());
        table.entry("Pin", spec.as_ref().map_or("none", pin));
        table.entry("Task dir", if profile.task_dir { "yes" } else { "no" });
        table.entry("Crash limit", profile.crash_limit.to_string());
        if !profile.retry.is_empty() {
            table.entry("Retry", retry_rules(profile));
        }
        let on: Vec<String> = submit.deps.of(index).map(|(task, _)| task.to_string()).collect();
        table.entry("Dependencies", on.join(","));
    }
    if let Some(delay) = row.info.and_then(|info| info.delay.as_ref()) {
        let left = time_left(delay.until, now);
        let text = format!("in {left} (retry {}), after: {}", delay.retries, delay.error);
        table.entry("To be retried", if verbose { text } else { cut(&text) });
    }
    let error = error_of(detail, row);
    table.entry("Error", if verbose { error.into_owned() } else { cut(&error) });
    table
}

/// Start and end, cut to seconds. Between the two are as many seconds as the run took, cut as well: one of a good second
/// must not look like one of two because of where it lies between the ticks of the clock.
fn dates(info: &TaskInfo, zone: &TimeZone) -> (String, String) {
    let Some(start) = info.started else { return Default::default() };
    let second = |micros: u64| micros - micros % 1_000_000;
    let first = second(start.0);
    let last = info.ended.map(|end| WallTime(first.saturating_add(second(end.0.saturating_sub(start.0)))));
    (date_local(WallTime(first), zone), last.map(|last| date_local(last, zone)).unwrap_or_default())
}

fn cut(error: &str) -> String {
    if error.chars().nth(ERROR_MAX).is_none() {
        return error.to_owned();
    }
    error.chars().take(ERROR_CUT).collect::<String>() + "..."
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        testing::{golden, samples},
        view::{TaskFilter, task_rows},
    };

    fn text(detail: &JobDetail, task: u32) -> String {
        let row = task_rows(detail, &TaskFilter::default()).find(|row| row.number.0 == task).expect("a task");
        task_details(detail, &row, samples::TASK_LIST_NOW, &TimeZone::UTC, false).draw(false)
    }

    #[test]
    fn tables() {
        golden("task_info_failed.txt", &text(&samples::task_with_everything(), 2));
        golden("task_info_running.txt", &text(&samples::task_list_jobs()[1], 1));
        golden("task_info_waiting.txt", &text(&samples::task_list_jobs()[1], 0));
    }

    #[test]
    fn a_run_of_a_second_shows_a_second() {
        let detail = samples::task_list_jobs();
        let mut info = detail[0].tasks[0].clone();
        for (start, took, expected) in [(999_999, 1_000_001, 1), (0, 1_999_999, 1), (500_000, 999_999, 0)] {
            (info.started, info.ended) = (Some(WallTime(start)), Some(WallTime(start + took)));
            let (_, end) = dates(&info, &TimeZone::UTC);
            assert_eq!(end, format!("01.01.1970 00:00:0{expected}"), "{start} {took}");
        }
        info.ended = None;
        assert_eq!(dates(&info, &TimeZone::UTC).1, "");
    }

    #[test]
    fn only_long_errors_are_cut() {
        for (len, expected) in [(0, 0), (240, 240), (241, 240), (5000, 240)] {
            assert_eq!(cut(&"ü".repeat(len)).chars().count(), expected, "{len}");
        }
        assert!(cut(&"x".repeat(300)).ends_with("xx..."));
    }
}

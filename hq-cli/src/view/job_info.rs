use hq_core::{
    Delayed, JobDetail, JobInfo, Profile, ProgramSpec, Span, Submit, TaskCounts, TaskInfo, TaskState, WallTime,
};

use super::{
    host_names,
    job_tasks::all_ids_text,
    program::{Body, body, common_paths, lossy},
    program_cells::{command, environment, pin},
    requests::request_lines,
    state::{job_state_cell, task_color},
};
use crate::output::{Align, Cell, Color, Line, Table, date_utc, makespan};

const BAR_WIDTH: u64 = 40;
const HOSTS_MAX: usize = 2;
const FAILURES_MAX: usize = 5;

/// States as a job's state lists them.
const ORDER: [TaskState; 6] = [
    TaskState::Running,
    TaskState::Failed,
    TaskState::Finished,
    TaskState::Canceled,
    TaskState::Waiting,
    TaskState::Aborted,
];

/// What is shown of a job, gathered from its pieces: of its tasks only those that are named.
#[derive(Debug)]
pub(crate) struct JobOutline {
    /// The job with its submits, and the names of all workers that ran its tasks.
    pub(crate) detail: JobDetail,
    /// The first tasks that failed.
    failures: Vec<TaskInfo>,
}

impl JobOutline {
    /// Of the first piece.
    pub(crate) fn new(piece: JobDetail) -> Self {
        let nothing = JobDetail { tasks: vec![], rest: vec![], workers: vec![], ..piece.clone() };
        let mut outline = Self { detail: nothing, failures: vec![] };
        outline.add(piece);
        outline
    }

    /// Adds a later piece.
    pub(crate) fn add(&mut self, piece: JobDetail) {
        let room = FAILURES_MAX.saturating_sub(self.failures.len());
        self.failures.extend(piece.tasks.into_iter().filter(|task| task.state == TaskState::Failed).take(room));
        self.detail.append(JobDetail { submits: vec![], tasks: vec![], rest: vec![], ..piece });
    }
}

/// All about a job, as it is at `now`.
pub(crate) fn job_details(outline: &JobOutline, now: WallTime) -> Table {
    let detail = &outline.detail;
    let info = &detail.info;
    let mut table = Table::vertical();
    table.entry("ID", info.id.to_string());
    table.entry("Name", info.spec.name.as_str());
    table.entry("State", state(detail));
    table.entry("Cancel Reason", info.cancel_reason.as_deref().unwrap_or_default());
    table.entry("Session", if info.is_open { "open" } else { "closed" });
    table.entry(
        "Tasks",
        match info.counts.total() {
            0 => "0".to_owned(),
            n => format!("{n}; Ids: {}", all_ids_text(detail)),
        },
    );
    if let Some(delayed) = &detail.delayed {
        table.entry("To be retried", delayed_tasks(delayed, now));
    }
    table.entry("Workers", workers(detail));
    let mut submit_dir = None;
    if let [one] = &detail.submits[..] {
        let body = body(&one.submit);
        if let Body::Array(spec) | Body::Template(spec, _) = &body {
            array(&mut table, detail, &one.submit, spec);
        }
        submit_dir = body.program(&one.submit, 0).map(|spec| lossy(&spec.submit_dir));
    }
    table.entry("Submission date", date_utc(info.submitted));
    if let Some(dir) = submit_dir {
        table.entry("Submission directory", dir);
    }
    table.entry("Makespan", makespan(info.submitted, completed(info).unwrap_or(now)));
    table
}

/// When a job was completed: an open one is not, although all its tasks have ended.
pub(super) fn completed(info: &JobInfo) -> Option<WallTime> {
    info.ended.filter(|_| !info.is_open)
}

/// The rows of a submit whose tasks are all the same.
fn array(table: &mut Table, detail: &JobDetail, submit: &Submit, spec: &ProgramSpec) {
    let Some(profile) = submit.profiles.first() else { return };
    let paths = common_paths(spec, detail.info.id, &detail.server_uid);
    table.entry("Resources", request_lines(profile).into_iter().collect::<Cell>());
    table.entry("Pin", pin(spec));
    table.entry("Priority", profile.priority.to_string());
    table.entry("Command", command(spec));
    table.entry("Stdout", paths.stdout.label());
    table.entry("Stderr", paths.stderr.label());
    table.entry("Environment", environment(spec));
    table.entry("Working directory", lossy(&paths.cwd));
    table.entry("Task time limit", Cell::or_none(profile.time_limit));
    table.entry("Crash limit", profile.crash_limit.to_string());
    if !profile.retry.is_empty() {
        table.entry("Retry", retry_rules(profile));
    }
}

/// Rules of retry, one in a line.
pub(super) fn retry_rules(profile: &Profile) -> Cell {
    profile.retry.iter().map(ToString::to_string).collect()
}

/// How many tasks wait for a moment to be run again, and how long it is until the first one.
fn delayed_tasks(delayed: &Delayed, now: WallTime) -> String {
    format!("{} (the first in {})", delayed.tasks, time_left(delayed.next, now))
}

/// Whole seconds until a moment, rounded up.
pub(super) const fn time_left(until: WallTime, now: WallTime) -> Span {
    Span(until.0.saturating_sub(now.0).div_ceil(1_000_000) * 1_000_000)
}

/// The label where there is one task, else a bar and a line for each state that occurs.
fn state(detail: &JobDetail) -> Cell {
    let counts = &detail.info.counts;
    if counts.total() == 1 {
        return job_state_cell(detail.info.state());
    }
    let mut lines = vec![bar(counts)];
    for state in ORDER {
        let n = counts.of(state);
        if n > 0 {
            lines.push(Line::colored(state.label(), task_color(state)).then(&format!(" ({n})"), None));
        }
    }
    Cell(lines)
}

fn bar(counts: &TaskCounts) -> Line {
    let total = counts.total().max(1);
    let mut room = BAR_WIDTH;
    let mut line = Line::plain("[");
    for state in ORDER.into_iter().filter(|state| *state != TaskState::Waiting) {
        let share = (u128::from(counts.of(state)) * u128::from(BAR_WIDTH)).div_ceil(total.into()) as u64;
        let share = share.min(room);
        room -= share;
        let color = if state == TaskState::Aborted { Color::BrightRed } else { task_color(state) };
        line = line.then(&"#".repeat(share as usize), Some(color));
    }
    line.then(&".".repeat(room as usize), None).then("]", None)
}

/// Names of all machines that ran tasks, by worker.
fn workers(detail: &JobDetail) -> String {
    let names: Vec<&str> = detail.workers.iter().map(|(_, name)| &**name).collect();
    let shown = names[..names.len().min(HOSTS_MAX)].join(",");
    if names.len() > HOSTS_MAX { format!("{shown}, … ({} total)", names.len()) } else { shown }
}

/// The first failures of a job in a table, and a line that counts them; nothing where none failed.
pub(crate) fn job_failures(outline: &JobOutline) -> Option<(Table, String)> {
    let total = outline.detail.info.counts.failed;
    if total == 0 {
        return None;
    }
    let mut table = Table::horizontal(&[("Task ID", Align::Left), ("Worker", Align::Left), ("Error", Align::Left)]);
    for task in &outline.failures {
        table.row(vec![
            task.number.to_string().into(),
            host_names(&outline.detail, task).into_iter().map(str::to_owned).collect(),
            task.error.as_deref().unwrap_or_default().into(),
        ]);
    }
    let shown = if total > FAILURES_MAX as u64 { format!(" ({FAILURES_MAX} shown)") } else { String::new() };
    Some((table, format!("{total} tasks failed.{shown}")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use hq_core::WorkerId;

    use super::*;
    use crate::testing::{golden, samples};

    fn text(detail: &JobDetail, now: u64) -> String {
        let now = WallTime(detail.info.submitted.0 + now);
        let outline = JobOutline::new(only_used(detail));
        let mut text = job_details(&outline, now).draw(false);
        if let Some((table, line)) = job_failures(&outline) {
            text += &format!("{}{line}\n", table.draw(false));
        }
        text
    }

    /// As a server tells it.
    fn only_used(detail: &JobDetail) -> JobDetail {
        let mut detail = detail.clone();
        let ids: BTreeSet<WorkerId> = detail.tasks.iter().flat_map(|task| task.workers.iter().copied()).collect();
        detail.workers.retain(|(id, _)| ids.contains(id));
        detail
    }

    #[test]
    fn tables() {
        golden("job_info_array.txt", &text(&samples::running_array(), 1_612_000));
        golden("job_info_failed.txt", &text(&samples::failed_job(), 0));
        golden("job_info_graph.txt", &text(&samples::graph_job(), 37_000));
    }

    #[test]
    fn what_is_to_be_retried() {
        let mut detail = samples::running_array();
        detail.delayed = Some(Delayed { tasks: 3, next: WallTime(detail.info.submitted.0 + 1_612_000 + 89_100_000) });
        let rules = ["exit=75,100-110:3:10s..5m", "any:1"].map(|rule| hq_core::RetryRule::parse(rule).expect("a rule"));
        std::sync::Arc::make_mut(&mut detail.submits[0].submit).profiles[0].retry = rules.into();
        golden("job_info_retried.txt", &text(&detail, 1_612_000));
    }

    #[test]
    fn an_empty_job_has_no_ids() {
        let mut detail = samples::graph_job();
        detail.submits.clear();
        detail.tasks.clear();
        detail.rest.clear();
        detail.info.counts = TaskCounts::default();
        let text = text(&detail, 0);
        let empty = format!("| State           | [{}] |", ".".repeat(40));
        assert!(text.contains(&empty) && text.contains("| Tasks           | 0   "), "{text}");
    }

    #[test]
    fn bars_round_up_and_stay_in_their_width() {
        let counts = |running, finished, failed, waiting| TaskCounts {
            running,
            finished,
            failed,
            waiting,
            ..TaskCounts::default()
        };
        for (counts, expected) in [
            (counts(1, 0, 0, 999), 1),
            (counts(1, 1, 1, 997), 3),
            (counts(4, 4, 0, 2), 32),
            (counts(333, 333, 334, 0), 40),
            (counts(0, 0, 0, 5), 0),
            (counts(u64::MAX / 4, 0, 0, u64::MAX / 4), 20),
        ] {
            let bar = bar(&counts).paint(false);
            assert_eq!(bar.matches('#').count(), expected, "{counts:?}");
            assert_eq!(bar.len(), 42, "{counts:?}");
        }
    }

    #[test]
    fn only_five_failures_are_shown() {
        let mut detail = samples::failed_job();
        let task = detail.tasks[0].clone();
        detail.tasks = vec![task.clone(); 2];
        detail.info.counts.failed = 7;
        let mut outline = JobOutline::new(detail.clone());
        outline.add(JobDetail { tasks: vec![task; 5], ..detail });
        let (table, line) = job_failures(&outline).expect("failures");
        assert_eq!(line, "7 tasks failed. (5 shown)");
        assert_eq!(table.draw(false).matches("Cannot execute").count(), 5);
    }
}

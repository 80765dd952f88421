use hq_core::{JobDetail, TaskInfo, TaskState, WallTime};

use super::{TaskRow, host_names, state::task_color};
use crate::output::{Align, Cell, Table, makespan};

const ERROR_MAX: usize = 16;

/// Tasks of jobs, as they are at `now`. With exactly one job its id is left out. Errors are cut unless `verbose`.
pub(crate) fn task_list(jobs: &[(&JobDetail, Vec<TaskRow<'_>>)], now: WallTime, verbose: bool) -> Table {
    let one_job = jobs.len() == 1;
    let columns = [
        ("Job ID", Align::Right),
        ("Task ID", Align::Right),
        ("State", Align::Left),
        ("Worker", Align::Left),
        ("Makespan", Align::Left),
        ("Error", Align::Left),
    ];
    let mut table = Table::horizontal(&columns[usize::from(one_job)..]);
    for (detail, rows) in jobs {
        for row in rows {
            let mut cells: Vec<Cell> = if one_job { vec![] } else { vec![detail.info.id.to_string().into()] };
            let hosts = row.info.map(|info| host_names(detail, info)).unwrap_or_default();
            let error = row.info.and_then(|info| info.error.as_deref()).unwrap_or_default();
            cells.extend([
                row.number.to_string().into(),
                Cell::colored(row.state.label(), task_color(row.state)),
                if row.state == TaskState::Waiting {
                    Cell::default()
                } else {
                    hosts.into_iter().map(str::to_owned).collect()
                },
                row.info.map(|info| task_makespan(info, now)).unwrap_or_default().into(),
                if verbose { error.into() } else { cut(error).into() },
            ]);
            table.row(cells);
        }
    }
    table
}

/// Whether [`task_list`] cuts an error.
pub(crate) fn has_cut_error(rows: &[TaskRow<'_>]) -> bool {
    rows.iter().filter_map(|row| row.info?.error.as_deref()).any(|error| cut(error) != error)
}

/// Time of the latest run; nothing for a task that waits for a run.
pub(super) fn task_makespan(task: &TaskInfo, now: WallTime) -> String {
    match (task.state, task.started, task.ended) {
        (TaskState::Running, Some(start), _) => makespan(start, now),
        (TaskState::Waiting, _, _) => String::new(),
        (_, Some(start), Some(end)) => makespan(start, end),
        _ => String::new(),
    }
}

fn cut(error: &str) -> String {
    let first = error.lines().next().unwrap_or_default();
    let beginning: String = first.chars().take(ERROR_MAX).collect();
    if beginning == error { beginning } else { beginning + "..." }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        testing::{golden, samples},
        view::task_rows,
    };

    #[test]
    fn tables() {
        let jobs = samples::task_list_jobs();
        let rows: Vec<_> = jobs.iter().map(|detail| (detail, task_rows(detail, |_, _| true))).collect();
        golden("task_list.txt", &task_list(&rows, samples::TASK_LIST_NOW, false).draw(false));
        golden("task_list_verbose.txt", &task_list(&rows[2..], samples::TASK_LIST_NOW, true).draw(false));
        golden("task_list_empty.txt", &task_list(&[], WallTime(0), false).draw(false));
        assert!(has_cut_error(&rows[2].1) && !has_cut_error(&rows[1].1));
    }

    #[test]
    fn errors_are_cut() {
        for (error, expected) in [
            ("", ""),
            ("sixteen letters!", "sixteen letters!"),
            ("seventeen letters", "seventeen letter..."),
            ("two\nlines", "two..."),
        ] {
            assert_eq!(cut(error), expected);
        }
    }
}

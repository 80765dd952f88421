use std::borrow::Cow;

use hq_core::{JobDetail, TaskInfo, TaskState, WallTime};

use super::{TaskRow, abort_reason, host_names, state::task_color};
use crate::output::{Align, Cell, Table, makespan};

const ERROR_MAX: usize = 16;

/// The table of tasks of jobs, as they are at `now`. With exactly one job its id is left out. Errors are cut unless `verbose`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TaskTable {
    /// There is exactly one job.
    pub(crate) one_job: bool,
    /// The moment.
    pub(crate) now: WallTime,
    /// Show whole errors.
    pub(crate) verbose: bool,
}

impl TaskTable {
    /// Its head.
    pub(crate) fn head(&self) -> Table {
        let columns = [
            ("Job ID", Align::Right),
            ("Task ID", Align::Right),
            ("State", Align::Left),
            ("Worker", Align::Left),
            ("Makespan", Align::Left),
            ("Error", Align::Left),
        ];
        Table::horizontal(&columns[usize::from(self.one_job)..])
    }

    /// How wide columns become in the end, usually; `last` is the largest number of a task.
    pub(crate) fn widths(&self, last: u32) -> Vec<usize> {
        let widths = [10, last.to_string().len(), "CANCELED".len(), 16, "59m 59s".len(), ERROR_MAX + 3];
        widths[usize::from(self.one_job)..].to_vec()
    }

    /// A task of a job.
    pub(crate) fn row(&self, detail: &JobDetail, row: &TaskRow<'_>) -> Vec<Cell> {
        let mut cells: Vec<Cell> = if self.one_job { vec![] } else { vec![detail.info.id.to_string().into()] };
        let hosts = row.info.map(|info| host_names(detail, info)).unwrap_or_default();
        let error = error_of(detail, row);
        cells.extend([
            row.number.to_string().into(),
            Cell::colored(row.state.label(), task_color(row.state)),
            if row.state == TaskState::Waiting {
                Cell::default()
            } else {
                hosts.into_iter().map(str::to_owned).collect()
            },
            row.info.map(|info| task_makespan(info, self.now)).unwrap_or_default().into(),
            if self.verbose { error.as_ref().into() } else { cut(&error).into() },
        ]);
        cells
    }
}

/// What is told of a task that did not end well: its own error, or why it was aborted.
pub(super) fn error_of<'a>(detail: &JobDetail, row: &TaskRow<'a>) -> Cow<'a, str> {
    match row.info.and_then(|info| info.error.as_deref()) {
        Some(error) => error.into(),
        None if row.state == TaskState::Aborted => abort_reason(detail, row.number).unwrap_or_default().into(),
        None => "".into(),
    }
}

/// Whether the error of a task is cut where not all of it is asked for.
pub(crate) fn is_cut(detail: &JobDetail, row: &TaskRow<'_>) -> bool {
    let error = error_of(detail, row);
    cut(&error) != error
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
        view::{TaskFilter, task_rows},
    };

    fn text(jobs: &[JobDetail], now: WallTime, verbose: bool) -> String {
        let table = TaskTable { one_job: jobs.len() == 1, now, verbose };
        let mut drawn = table.head();
        for detail in jobs {
            task_rows(detail, &TaskFilter::default()).for_each(|row| drawn.row(table.row(detail, &row)));
        }
        drawn.draw(false)
    }

    #[test]
    fn tables() {
        let jobs = samples::task_list_jobs();
        golden("task_list.txt", &text(&jobs, samples::TASK_LIST_NOW, false));
        golden("task_list_verbose.txt", &text(&jobs[2..], samples::TASK_LIST_NOW, true));
        golden("task_list_empty.txt", &text(&[], WallTime(0), false));
        let first = |job| task_rows(job, &TaskFilter::default()).next().expect("a task");
        assert!(is_cut(&jobs[2], &first(&jobs[2])) && !is_cut(&jobs[1], &first(&jobs[1])));
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

use std::collections::BTreeMap;

use hq_core::{IdList, JobDetail, TaskIds, TaskInfo, TaskNumber, TaskState, idlist::Run};

use super::program::{Body, body};

/// A task of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TaskRow<'a> {
    /// Its number.
    pub(crate) number: TaskNumber,
    /// Where it is in its life.
    pub(crate) state: TaskState,
    /// What else there is to say of it.
    pub(crate) info: Option<&'a TaskInfo>,
}

/// All tasks of a job that `wanted` wants, by number.
pub(crate) fn task_rows(detail: &JobDetail, wanted: impl Fn(TaskNumber, TaskState) -> bool) -> Vec<TaskRow<'_>> {
    let told = detail.tasks.iter().map(|info| TaskRow { number: info.number, state: info.state, info: Some(info) });
    let rest = detail.rest.iter().flat_map(|(state, ids)| {
        ids.iter().map(|number| TaskRow { number: TaskNumber(number), state: *state, info: None })
    });
    let mut rows: Vec<TaskRow<'_>> = told.chain(rest).filter(|row| wanted(row.number, row.state)).collect();
    rows.sort_by_key(|row| row.number);
    rows
}

/// Numbers of the tasks in states that `wanted` wants, as sorted runs: `1-6,10-20`.
pub(crate) fn ids_text(detail: &JobDetail, wanted: impl Fn(TaskState) -> bool) -> String {
    let told = detail.tasks.iter().filter(|info| wanted(info.state));
    let told = told.map(|info| Run { start: info.number.0, count: 1, step: 1 });
    let rest = detail.rest.iter().filter(|(state, _)| wanted(*state)).flat_map(|(_, ids)| ids.runs().to_vec());
    sorted_text(told.chain(rest))
}

/// Numbers of all tasks: as they were submitted where that was one array, else sorted.
pub(super) fn all_ids_text(detail: &JobDetail) -> String {
    match &detail.submits[..] {
        [one]
            if let TaskIds::Given(ids) = &one.submit.ids
                && !matches!(body(&one.submit), Body::Graph) =>
        {
            match ids.runs() {
                // One list in steps of one is shown in the largest runs there are.
                runs if runs.is_sorted_by_key(|run| run.start) && runs.iter().copied().all(plain) => {
                    sorted_text(runs.iter().copied())
                }
                _ => ids.to_string(),
            }
        }
        _ => ids_text(detail, |_| true),
    }
}

/// Runs with a step stay as they are; others are joined to the largest runs.
fn sorted_text(runs: impl Iterator<Item = Run>) -> String {
    let mut by_start: BTreeMap<u32, Run> = BTreeMap::new();
    let mut runs: Vec<Run> = runs.filter(|run| run.count > 0).collect();
    runs.sort_by_key(|run| run.start);
    let mut last: Option<Run> = None;
    for run in runs {
        match &mut last {
            Some(open) if plain(run) && plain(*open) && open.start.checked_add(open.count) == Some(run.start) => {
                open.count = open.count.saturating_add(run.count);
            }
            _ => {
                by_start.extend(last.replace(run).map(|run| (run.start, run)));
            }
        }
    }
    by_start.extend(last.map(|run| (run.start, run)));
    IdList::from(by_start.into_values().collect::<Vec<_>>()).to_string()
}

const fn plain(run: Run) -> bool {
    run.step == 1 || run.count == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::samples;

    #[test]
    fn runs_are_joined_and_sorted() {
        let run = |start, count, step| Run { start, count, step };
        for (runs, expected) in [
            (vec![], ""),
            (vec![run(5, 1, 1), run(1, 3, 1), run(4, 1, 1)], "1-5"),
            (vec![run(10, 11, 1), run(1, 6, 1)], "1-6,10-20"),
            (vec![run(5, 1, 1), run(3, 1, 1), run(1, 1, 1)], "1,3,5"),
            (vec![run(0, 4, 3)], "0-9:3"),
            (vec![run(0, 4, 3), run(10, 1, 1)], "0-9:3,10"),
        ] {
            assert_eq!(sorted_text(runs.into_iter()), expected);
        }
    }

    #[test]
    fn ids_of_one_submit_keep_their_order() {
        for (array, expected) in [
            ("5,3,1", "5,3,1"),
            ("10-19", "10-19"),
            ("0-9:3", "0-9:3"),
            ("0-10:3", "0-10:3"),
            ("1,2,3", "1-3"),
            ("0", "0"),
        ] {
            assert_eq!(all_ids_text(&samples::array_job(array)), expected);
        }
    }

    #[test]
    fn rows_and_ids_by_state() {
        let detail = samples::running_array();
        assert_eq!(ids_text(&detail, |state| state == TaskState::Waiting), "18-19");
        assert_eq!(ids_text(&detail, |_| true), "10-19");
        assert_eq!(ids_text(&detail, |state| state == TaskState::Failed), "");
        let rows = task_rows(&detail, |number, state| number.0 > 16 && state != TaskState::Failed);
        assert_eq!(rows.iter().map(|row| row.number.0).collect::<Vec<_>>(), [17, 18, 19]);
    }
}

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, binary_heap::PeekMut},
    iter::from_fn,
};

use hq_core::{DetailPart, IdList, JobDetail, TaskIds, TaskInfo, TaskNumber, TaskState, idlist::Run};

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

/// Which tasks are wanted; the default: all.
#[derive(Clone, Debug, Default)]
pub(crate) struct TaskFilter {
    /// Only these.
    pub(crate) ids: Option<IdList>,
    /// Only those in these states; empty: in any.
    pub(crate) states: Vec<TaskState>,
}

impl TaskFilter {
    /// What to ask a server for.
    pub(crate) fn part(&self, bodies: bool) -> DetailPart {
        let ids = self.ids.as_ref();
        DetailPart {
            first: TaskNumber(ids.and_then(IdList::min).unwrap_or(0)),
            last: TaskNumber(ids.map_or(Some(u32::MAX), IdList::max).unwrap_or(0)),
            states: self.states.clone(),
            ..DetailPart::whole(bodies)
        }
    }

    fn wants(&self, state: TaskState) -> bool {
        self.states.is_empty() || self.states.contains(&state)
    }
}

/// All tasks of (a piece of) a job that are wanted, by number. Made as they are asked for: there may be billions.
pub(crate) fn task_rows<'a>(detail: &'a JobDetail, filter: &TaskFilter) -> impl Iterator<Item = TaskRow<'a>> + use<'a> {
    let told = detail.tasks.iter().filter(|info| {
        filter.wants(info.state) && filter.ids.as_ref().is_none_or(|ids| ids.index_of(info.number.0).is_some())
    });
    let mut told: Vec<&TaskInfo> = told.collect();
    told.sort_by_key(|info| info.number);
    let mut told = told.into_iter().peekable();
    // The next number of each run, what is left of it, and its state.
    let mut rest: BinaryHeap<Reverse<(u32, u32, u32, TaskState)>> = BinaryHeap::new();
    for (state, ids) in detail.rest.iter().filter(|(state, _)| filter.wants(*state)) {
        let chosen = filter.ids.as_ref().map_or_else(|| ids.clone(), |wanted| ids.common(wanted));
        rest.extend(chosen.runs().iter().map(|run| Reverse((run.start, run.count, run.step, *state))));
    }
    from_fn(move || {
        let next = rest.peek().map(|Reverse((number, ..))| *number);
        if let Some(info) = told.next_if(|info| next.is_none_or(|next| info.number.0 < next)) {
            return Some(TaskRow { number: info.number, state: info.state, info: Some(info) });
        }
        let mut first = rest.peek_mut()?;
        let Reverse((number, count, step, state)) = *first;
        if count > 1 {
            first.0.0 = number.saturating_add(step);
            first.0.1 = count - 1;
        } else {
            PeekMut::pop(first);
        }
        Some(TaskRow { number: TaskNumber(number), state, info: None })
    })
}

/// How many tasks of (a piece of) a job are wanted, without counting them one by one.
pub(crate) fn row_count(detail: &JobDetail, filter: &TaskFilter) -> u64 {
    let told = detail.tasks.iter().filter(|info| {
        filter.wants(info.state) && filter.ids.as_ref().is_none_or(|ids| ids.index_of(info.number.0).is_some())
    });
    let rest = detail.rest.iter().filter(|(state, _)| filter.wants(*state));
    let len = |ids: &IdList| filter.ids.as_ref().map_or_else(|| ids.len(), |wanted| ids.common(wanted).len());
    told.count() as u64 + rest.map(|(_, ids)| len(ids)).sum::<u64>()
}

/// Numbers of tasks as runs, piece by piece.
#[derive(Debug, Default)]
pub(crate) struct TaskRuns(Vec<Run>);

impl TaskRuns {
    /// Adds the tasks of (a piece of) a job that are wanted.
    pub(crate) fn add(&mut self, detail: &JobDetail, filter: &TaskFilter) {
        let told = detail.tasks.iter().filter(|info| filter.wants(info.state)).map(|info| Run::one(info.number.0));
        let rest = detail.rest.iter().filter(|(state, _)| filter.wants(*state)).flat_map(|(_, ids)| ids.runs());
        let from = self.0.len().saturating_sub(1);
        let mut fresh = self.0.split_off(from);
        fresh.extend(told.chain(rest.copied()));
        self.0.extend(sorted(fresh));
    }

    /// As they are shown: `1-6,10-20`.
    pub(crate) fn text(self) -> String {
        self.list().to_string()
    }

    /// All of them, by number but for those that lie inside each other.
    pub(crate) fn list(self) -> IdList {
        IdList::from(self.0)
    }
}

/// Tasks that are asked for and that the job has not: the first few, and how many there are.
pub(crate) fn unknown_tasks(detail: &JobDetail, wanted: &IdList, few: usize) -> (Vec<u32>, u64) {
    all_ids(detail).missing(wanted, few)
}

/// Numbers of all tasks, sorted.
pub(crate) fn all_ids(detail: &JobDetail) -> IdList {
    let given = detail.submits.iter().filter_map(|info| match &info.submit.ids {
        TaskIds::Given(ids) => Some(ids.runs()),
        TaskIds::Next(_) => None,
    });
    IdList::from(sorted(given.flatten().copied().collect()))
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
                    IdList::from(sorted(runs.to_vec())).to_string()
                }
                _ => ids.to_string(),
            }
        }
        _ => all_ids(detail).to_string(),
    }
}

/// Runs with a step stay as they are; others are joined to the largest runs.
fn sorted(mut runs: Vec<Run>) -> Vec<Run> {
    runs.retain(|run| run.count > 0);
    runs.sort_by_key(|run| run.start);
    let mut joined: Vec<Run> = Vec::with_capacity(runs.len());
    for run in runs {
        match joined.last_mut() {
            Some(open) if plain(run) && plain(*open) && open.start.checked_add(open.count) == Some(run.start) => {
                open.count = open.count.saturating_add(run.count);
                open.step = 1;
            }
            _ => joined.push(run),
        }
    }
    joined
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
            assert_eq!(IdList::from(sorted(runs)).to_string(), expected);
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

    fn filter(ids: Option<&str>, states: &[TaskState]) -> TaskFilter {
        TaskFilter { ids: ids.map(|ids| IdList::parse(ids).expect("ids")), states: states.to_vec() }
    }

    #[test]
    fn rows_and_ids_by_state() {
        let detail = samples::running_array();
        for (states, expected) in [(&[TaskState::Waiting][..], "18-19"), (&[], "10-19"), (&[TaskState::Failed], "")] {
            let mut runs = TaskRuns::default();
            runs.add(&detail, &filter(None, states));
            assert_eq!(runs.text(), expected);
        }
        let chosen = filter(Some("17-30,11"), &[TaskState::Running, TaskState::Waiting]);
        assert_eq!(task_rows(&detail, &chosen).map(|row| row.number.0).collect::<Vec<_>>(), [17, 18, 19]);
        assert_eq!(row_count(&detail, &chosen), 3);
        assert_eq!(unknown_tasks(&detail, &IdList::parse("12,5,40-99").expect("ids"), 2), (vec![5, 40], 61));
    }

    #[test]
    fn pieces_of_a_job_are_joined() {
        let mut detail = samples::running_array();
        let mut runs = TaskRuns::default();
        runs.add(&detail, &TaskFilter::default());
        detail.tasks.clear();
        detail.rest = vec![(TaskState::Aborted, IdList::range(20, 5)), (TaskState::Canceled, IdList::range(30, 1))];
        runs.add(&detail, &TaskFilter::default());
        assert_eq!(runs.text(), "10-24,30");
    }

    #[test]
    fn the_first_of_billions_of_tasks_is_there_at_once() {
        let mut detail = samples::array_job("0-9");
        detail.rest = [(TaskState::Canceled, "0-1999999999:2"), (TaskState::Aborted, "1-999999999:2")]
            .map(|(state, ids)| (state, IdList::parse(ids).expect("ids")))
            .into();
        let first: Vec<_> = task_rows(&detail, &TaskFilter::default()).take(3).map(|row| row.number.0).collect();
        assert_eq!(first, [0, 1, 2]);
        let last: Vec<_> = task_rows(&detail, &filter(Some("999999999,5"), &[])).map(|row| row.number.0).collect();
        assert_eq!(last, [5, 999_999_999]);
        assert_eq!(row_count(&detail, &TaskFilter::default()), 1_500_000_000);
    }
}

//! What stands for a longer past: the facts that only a compacted journal has.
//!
//! A snapshot begins with the first [`Fact::Boot`](crate::Fact::Boot) and [`Fact::SnapshotBegun`](crate::Fact::SnapshotBegun)
//! and ends with [`Fact::SnapshotEnded`](crate::Fact::SnapshotEnded). Between them are facts as they happened, and these
//! here for what came of the tasks.

use serde::{Deserialize, Serialize};

use crate::{
    Blob, ClassId, End, GrantId, JobId, Ordinal, OrdinalRange, Tick, Variants, WorkerId,
    fact::{pop_varint, push_varint},
};

/// Names that are given as they are needed, so that they stay what they are where the first use is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotHead {
    /// Classes of tasks in the order of their numbers, from 0 on.
    pub classes: Vec<SnapshotClass>,
    /// Numbers of classes that are left out, ascending: no class has them now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub free_classes: Vec<ClassId>,
    /// Users of submits, with their numbers.
    pub users: SnapshotNames,
    /// Projects of submits, with their numbers.
    pub projects: SnapshotNames,
}

/// A class of tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotClass {
    /// What one of its tasks asks for.
    pub variants: Variants,
    /// Kind of body.
    pub kind: String,
    /// Its tasks get no backlog.
    pub no_backlog: bool,
}

/// Names and their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotNames {
    /// In order of the names.
    pub known: Vec<(String, u32)>,
    /// The last number that was ever given.
    pub last: u32,
}

/// Where counting goes on, and what is told by nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotTail {
    /// Ordinal of the next task.
    pub next_ordinal: u64,
    /// The last job id that was ever given.
    pub last_job: u32,
    /// The last worker id that was ever given or left out.
    pub last_worker: u32,
    /// The last grant of the present epoch.
    pub last_grant: u32,
    /// When the last task of a job had ended, of those where it is so.
    pub ended: Vec<(JobId, Tick)>,
    /// Submits, by their first task, that wait for so many whole jobs.
    pub shut: Vec<(Ordinal, u32)>,
    /// Of each worker its newest grant, and the latest task with its start.
    pub workers: Vec<SnapshotWorker>,
}

/// What a worker did last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotWorker {
    /// The worker.
    pub worker: WorkerId,
    /// The newest grant on it.
    pub grant: Option<GrantId>,
    /// The latest task on it, and its start.
    pub task: Option<(Ordinal, Tick)>,
}

/// What few tasks have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskMark {
    /// The task.
    #[serde(rename = "o")]
    pub task: Ordinal,
    /// How often it was taken back from a worker.
    #[serde(rename = "i", default, skip_serializing_if = "is_zero")]
    pub instance: u32,
    /// How many workers it took with it.
    #[serde(rename = "c", default, skip_serializing_if = "is_zero")]
    pub crashes: u32,
    /// Why it failed.
    #[serde(rename = "e", default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The workers of its gang, the main one first.
    #[serde(rename = "g", default, skip_serializing_if = "Vec::is_empty")]
    pub gang: Vec<WorkerId>,
    /// What its retries are.
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Box<RetryMark>>,
}

/// What is known of a task that did not end well before. All but `lost` is of one that has not ended yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryMark {
    /// Numbers of rules, and how often they were used.
    #[serde(rename = "n")]
    pub used: Vec<(u8, u32)>,
    /// It is not run before then.
    #[serde(rename = "u")]
    pub until: Option<Tick>,
    /// How its last run ended.
    #[serde(rename = "e")]
    pub error: String,
    /// Workers that were lost while they ran it, the first few.
    #[serde(rename = "w")]
    pub lost: Vec<WorkerId>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// PastRuns of tasks as columns: two to six bytes each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastRuns {
    /// How many.
    #[serde(rename = "n")]
    pub count: u64,
    /// PastRuns of ordinals: start less the end of the run before (zigzag), then length; variable-length integers.
    #[serde(rename = "r")]
    tasks: Blob,
    /// Per task: start less the end of the task before (zigzag), then duration; variable-length integers.
    #[serde(rename = "b")]
    times: Blob,
}

impl PastRuns {
    /// Columns of `ends`, whose order is kept: least bytes where each begins soon after the end of the one before.
    pub fn new(ends: impl IntoIterator<Item = End>) -> Self {
        let (mut tasks, mut times) = (Vec::new(), Vec::new());
        let (mut run, mut last) = (OrdinalRange::new(Ordinal(0), 0), 0);
        let (mut before, mut count) = (Tick(0), 0);
        let mut flush = |run: OrdinalRange| {
            if run.len > 0 {
                push_varint(&mut tasks, zigzag(run.start.0.wrapping_sub(last)));
                push_varint(&mut tasks, run.len);
                last = run.end().0;
            }
        };
        for end in ends {
            if run.len > 0 && run.end() == end.task {
                run.len += 1;
            } else {
                flush(run);
                run = OrdinalRange::one(end.task);
            }
            push_varint(&mut times, zigzag(end.start.0.wrapping_sub(before.0)));
            push_varint(&mut times, end.end.since(end.start).0);
            before = end.start.after(end.end.since(end.start));
            count += 1;
        }
        flush(run);
        Self { count, tasks: tasks.into(), times: times.into() }
    }

    /// The ranges of tasks, in order; stops early where the column is damaged.
    pub fn ranges(&self) -> impl Iterator<Item = OrdinalRange> + '_ {
        let mut bytes = &self.tasks[..];
        let mut last = 0_u64;
        std::iter::from_fn(move || {
            let start = last.wrapping_add(unzigzag(pop_varint(&mut bytes)?));
            let run = OrdinalRange::new(Ordinal(start), pop_varint(&mut bytes)?);
            last = run.end().0;
            Some(run)
        })
    }

    /// The tasks in order; stops early where the columns are damaged.
    pub fn iter(&self) -> impl Iterator<Item = End> + '_ {
        let mut bytes = &self.times[..];
        let mut before = Tick(0);
        self.ranges().flat_map(OrdinalRange::iter).map_while(move |task| {
            let start = Tick(before.0.wrapping_add(unzigzag(pop_varint(&mut bytes)?)));
            let end = start.after(crate::Span(pop_varint(&mut bytes)?));
            before = end;
            Some(End { task, start, end })
        })
    }
}

const fn zigzag(gap: u64) -> u64 {
    let gap = gap.cast_signed();
    ((gap << 1) ^ (gap >> 63)).cast_unsigned()
}

const fn unzigzag(zigzag: u64) -> u64 {
    ((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed()).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Span;

    proptest! {
        #[test]
        fn runs_survive_their_columns(rows in prop::collection::vec((any::<u32>(), any::<u64>(), any::<u32>()), 0..50), dense: bool) {
            let ends: Vec<End> = (0..).zip(rows)
                .map(|(i, (task, start, took))| {
                    let task = if dense { i } else { u64::from(task) };
                    let start = Tick(start >> 1);
                    End { task: Ordinal(task), start, end: start.after(Span(took.into())) }
                })
                .collect();
            let runs = PastRuns::new(ends.iter().copied());
            prop_assert_eq!(runs.count, ends.len() as u64);
            prop_assert_eq!(runs.iter().collect::<Vec<_>>(), ends);
        }

        #[test]
        fn damaged_columns_do_no_harm(tasks in prop::collection::vec(any::<u8>(), 0..40), times in prop::collection::vec(any::<u8>(), 0..40)) {
            let runs = PastRuns { count: 7, tasks: tasks.into(), times: times.clone().into() };
            prop_assert!(runs.iter().count() <= times.len());
        }
    }

    #[test]
    fn millisecond_tasks_take_less_than_four_bytes() {
        let lane = |n: u64| {
            (0..100).map(move |i| End { task: Ordinal(n * 100 + i), start: Tick(i * 1050), end: Tick(i * 1050 + 1000) })
        };
        let runs = PastRuns::new((0..4).flat_map(lane));
        assert!(runs.tasks.len() + runs.times.len() < 4 * 400, "{}", runs.tasks.len() + runs.times.len());
    }
}

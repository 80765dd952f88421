//! What happened, in order: the journal's content and the only thing that changes the core's lasting state.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    Allocation, Blob, ClassId, Epoch, GrantId, HardwareState, JobId, JobSpec, KeptGrant, LossReason, OpenedLanes,
    Ordinal, OrdinalRange, PastRuns, PauseCause, QueueId, QueueSpec, SnapshotHead, SnapshotTail, Span, Submit,
    TaskMark, TaskState, Tick, WorkerConfig, WorkerId,
};

/// A fact and its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// When it became true.
    #[serde(rename = "t")]
    pub at: Tick,
    /// What.
    #[serde(rename = "f")]
    pub fact: Fact,
}

/// One thing that happened.
///
/// The facts of one step belong together: they are appended as one batch, which is in the journal whole or not at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fact {
    /// The server began a new life on this journal.
    Boot {
        /// Its number.
        epoch: Epoch,
        /// Kept over restarts.
        server_uid: String,
        /// Microseconds since 1970 by the wall clock.
        wall: u64,
        /// The program's version.
        version: String,
    },
    /// An open job was made.
    JobOpened {
        /// Its id.
        job: JobId,
        /// What it is.
        spec: JobSpec,
    },
    /// Tasks came; the job is made where the submit says so.
    Submitted {
        /// Their job.
        job: JobId,
        /// Ordinal of the first task.
        base: Ordinal,
        /// All of it; the numbers are settled ([`TaskIds::Given`](crate::TaskIds::Given)).
        submit: Arc<Submit>,
    },
    /// Nothing more can be submitted to the job.
    JobClosed {
        /// The job.
        job: JobId,
    },
    /// The open job ends with the client that made it.
    JobBound {
        /// The job.
        job: JobId,
    },
    /// A user cancelled tasks of the job.
    JobCanceled {
        /// The job.
        job: JobId,
        /// The user's reason.
        reason: Option<String>,
    },
    /// The job is gone from the books.
    JobForgotten {
        /// The job.
        job: JobId,
    },
    /// Another order or placement decides from now on.
    PolicyChanged {
        /// Name of the order.
        order: String,
        /// Name of the placement.
        placement: String,
    },
    /// A worker came.
    WorkerJoined {
        /// Its id.
        worker: WorkerId,
        /// What it says of itself.
        config: Arc<WorkerConfig>,
    },
    /// A worker is gone; its unfinished tasks wait again, those that ran with a new instance.
    WorkerLost {
        /// The worker.
        worker: WorkerId,
        /// Why.
        reason: LossReason,
    },
    /// A lane was opened, or a gang formed.
    #[serde(rename = "GO")]
    GrantOpened {
        /// Its name.
        grant: GrantId,
        /// One worker; for a gang all of them, the main one first.
        workers: Vec<WorkerId>,
        /// In a snapshot its class, by the number that the snapshot's head says. Elsewhere that is the class of its tasks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<ClassId>,
        /// The variant granted.
        variant: u8,
        /// The exact indices; empty for a gang.
        allocation: Arc<Allocation>,
        /// The first tasks.
        tasks: Vec<OrdinalRange>,
    },
    /// A lane got more tasks.
    #[serde(rename = "GE")]
    GrantExtended {
        /// The lane.
        grant: GrantId,
        /// The tasks.
        tasks: Vec<OrdinalRange>,
    },
    /// Tasks of a lane that had not started wait again.
    #[serde(rename = "GR")]
    GrantReturned {
        /// The lane.
        grant: GrantId,
        /// The tasks.
        tasks: Vec<OrdinalRange>,
    },
    /// A lane is over and its resources are free.
    #[serde(rename = "GC")]
    GrantClosed {
        /// The lane.
        grant: GrantId,
    },
    /// A task runs.
    #[serde(rename = "TS")]
    TaskStarted {
        /// Its lane.
        grant: GrantId,
        /// The task.
        task: Ordinal,
        /// Since when.
        start: Tick,
    },
    /// Tasks of a lane finished, in this order.
    #[serde(rename = "TF")]
    TasksFinished {
        /// Their lane.
        #[serde(rename = "g")]
        grant: GrantId,
        /// Which, and when.
        #[serde(rename = "e")]
        ends: Ends,
    },
    /// A task failed. Without a lane: it will not be run again after the loss of its worker.
    TaskFailed {
        /// Its lane.
        grant: Option<GrantId>,
        /// The task.
        task: Ordinal,
        /// When it began, if it did.
        start: Option<Tick>,
        /// Why.
        error: String,
    },
    /// A cancelled or aborted task has left its lane.
    TaskKilled {
        /// The lane.
        grant: GrantId,
        /// The task.
        task: Ordinal,
    },
    /// Tasks were cancelled by their user.
    TasksCanceled {
        /// Which.
        tasks: Vec<OrdinalRange>,
    },
    /// Tasks will not run, or no further, because of another one's end or the job's `max_fails`.
    TasksAborted {
        /// Which.
        tasks: Vec<OrdinalRange>,
    },
    /// A queue of allocations was made.
    QueueCreated {
        /// Its id.
        queue: QueueId,
        /// How it asks.
        spec: Arc<QueueSpec>,
    },
    /// A queue of allocations is gone.
    QueueRemoved {
        /// Its id.
        queue: QueueId,
    },
    /// The backend is going to be asked for machines, under this key.
    AllocationIntended {
        /// The queue.
        queue: QueueId,
        /// By which the allocation can be found again.
        key: String,
        /// Workers wanted.
        workers: u32,
        /// Where its script and outputs are to be.
        #[serde(default)]
        dir: Option<String>,
    },
    /// The backend took the request.
    AllocationQueued {
        /// The queue.
        queue: QueueId,
        /// The key.
        key: String,
        /// The backend's name for it.
        id: String,
        /// Workers that were asked for.
        #[serde(default)]
        workers: u32,
    },
    /// The allocation has begun: a worker of it came, or the backend says so.
    AllocationStarted {
        /// The queue.
        queue: QueueId,
        /// The key.
        key: String,
        /// The backend's name for it.
        #[serde(default)]
        id: String,
    },
    /// The allocation is over, or was never had.
    AllocationEnded {
        /// The queue.
        queue: QueueId,
        /// The key.
        key: String,
        /// The backend's name for it; none where it was never had.
        #[serde(default)]
        id: Option<String>,
        /// What went wrong, if something did.
        error: Option<String>,
    },
    /// A worker looked at its machine. Nothing follows from it.
    WorkerOverview {
        /// The worker.
        worker: WorkerId,
        /// What it saw.
        state: Box<HardwareState>,
    },
    /// A client wants all before this to be safe. Nothing follows from it.
    FlushWanted,
    /// A worker that may come back was given the secret by which it is known then.
    SessionGiven {
        /// The worker.
        worker: WorkerId,
        /// In this boot.
        epoch: Epoch,
        /// The secret.
        token: u64,
    },
    /// The link of a worker that may come back is gone. What it has waits for it.
    WorkerAway {
        /// The worker.
        worker: WorkerId,
    },
    /// A worker came back, and goes on with this; what else it had waits again, with a new instance.
    WorkerReturned {
        /// The worker.
        worker: WorkerId,
        /// Its lanes.
        kept: Vec<KeptGrant>,
    },
    /// The server was stopped on purpose. Nothing follows from it: callers cut the end of a stopped server's journal, and
    /// this is what they cut.
    ServerStopped,
    /// A queue of allocations asks for nothing until it goes on.
    QueuePaused {
        /// Its id.
        queue: QueueId,
        /// Why.
        cause: PauseCause,
    },
    /// A queue of allocations asks again.
    QueueResumed {
        /// Its id.
        queue: QueueId,
    },
    /// A queue of allocations is to go once none of its allocations is left.
    QueueClosing {
        /// Its id.
        queue: QueueId,
    },
    /// A worker of a queue came that is not like those before.
    QueueLearned {
        /// The queue.
        queue: QueueId,
        /// What the worker says of itself.
        worker: Arc<WorkerConfig>,
    },
    /// What follows, up to the end of the snapshot, stands for a longer past.
    SnapshotBegun {
        /// Names that must stay what they are.
        head: Box<SnapshotHead>,
    },
    /// What few tasks have, before these are told of.
    #[serde(rename = "TM")]
    TasksMarked {
        /// Which, and what.
        #[serde(rename = "m")]
        marks: Vec<TaskMark>,
    },
    /// Tasks of one submit that have run on a worker, and what has come of them.
    #[serde(rename = "TR")]
    TasksRan {
        /// The worker; 0 where it is not known.
        #[serde(rename = "w")]
        worker: WorkerId,
        /// The variant granted.
        #[serde(rename = "v")]
        variant: u8,
        /// What they are now: ended, or waiting for another run.
        #[serde(rename = "s")]
        state: TaskState,
        /// The tasks and their last runs.
        #[serde(rename = "r")]
        runs: PastRuns,
    },
    /// The snapshot is whole.
    SnapshotEnded {
        /// Where counting goes on.
        tail: Box<SnapshotTail>,
    },
    /// Records were lost by damage of the journal. Workers are gone as after a boot.
    RecordsLost {
        /// How many.
        count: u64,
    },
    /// Several lanes of one class were opened in one go.
    #[serde(rename = "GM")]
    GrantsOpened(Box<OpenedLanes>),
    /// A run did not end well, and its task is to be run again, with a new instance. Without a lane: its worker was lost,
    /// and the task waits already.
    #[serde(rename = "TA")]
    TaskRetried {
        /// The lane it leaves.
        grant: Option<GrantId>,
        /// The task.
        task: Ordinal,
        /// When the run began, if it did.
        start: Option<Tick>,
        /// The number of the rule that says so.
        rule: u8,
        /// Not before then.
        until: Tick,
        /// How the run ended.
        error: String,
    },
    /// Tasks that were to be run again, but not before now.
    #[serde(rename = "TD")]
    RetriesDue {
        /// Which.
        tasks: Vec<OrdinalRange>,
    },
}

impl Fact {
    /// Whether it tells of a queue of allocations or of one of its allocations.
    pub const fn is_about_allocations(&self) -> bool {
        matches!(
            self,
            Self::QueueCreated { .. }
                | Self::QueueRemoved { .. }
                | Self::QueuePaused { .. }
                | Self::QueueResumed { .. }
                | Self::QueueClosing { .. }
                | Self::QueueLearned { .. }
                | Self::AllocationIntended { .. }
                | Self::AllocationQueued { .. }
                | Self::AllocationStarted { .. }
                | Self::AllocationEnded { .. }
        )
    }
}

/// Ends of tasks as columns: a few bytes each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ends {
    /// The tasks, in order of their ends.
    #[serde(rename = "r")]
    pub tasks: Vec<OrdinalRange>,
    /// Start of the first one.
    #[serde(rename = "s")]
    pub first: Tick,
    /// Per task: start less the end before (zigzag), then duration; variable-length integers.
    #[serde(rename = "b")]
    pub times: Blob,
}

/// A task, when it started, when it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The task.
    pub task: Ordinal,
    /// Its start.
    pub start: Tick,
    /// Its end, not before its start.
    pub end: Tick,
}

impl Ends {
    /// Columns of `ends`, whose order is kept.
    pub fn new(ends: impl IntoIterator<Item = End>) -> Self {
        let mut tasks: Vec<OrdinalRange> = Vec::new();
        let mut bytes = Vec::new();
        let mut first = None;
        let mut before = Tick::default();
        for end in ends {
            match tasks.last_mut() {
                Some(run) if run.end() == end.task => run.len += 1,
                _ => tasks.push(OrdinalRange::one(end.task)),
            }
            if first.is_none() {
                first = Some(end.start);
                before = end.start;
            }
            let gap = end.start.0.wrapping_sub(before.0).cast_signed();
            push_varint(&mut bytes, ((gap << 1) ^ (gap >> 63)).cast_unsigned());
            push_varint(&mut bytes, end.end.since(end.start).0);
            before = end.start.after(end.end.since(end.start));
        }
        Self { tasks, first: first.unwrap_or_default(), times: bytes.into() }
    }

    /// The ends in order; stops early where the columns are damaged.
    pub fn iter(&self) -> impl Iterator<Item = End> + '_ {
        let mut bytes = &self.times[..];
        let mut before = self.first;
        self.tasks.iter().flat_map(|run| run.iter()).map_while(move |task| {
            let zigzag = pop_varint(&mut bytes)?;
            let gap = (zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed();
            let start = Tick(before.0.wrapping_add_signed(gap));
            let end = start.after(Span(pop_varint(&mut bytes)?));
            before = end;
            Some(End { task, start, end })
        })
    }
}

pub(crate) fn push_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

pub(crate) fn pop_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ends_survive_their_columns(rows in prop::collection::vec((0u64..1000, any::<u32>(), any::<u32>()), 0..50)) {
            let ends: Vec<End> = rows
                .into_iter()
                .map(|(task, start, took)| {
                    let start = Tick(u64::from(start));
                    End { task: Ordinal(task), start, end: start.after(Span(u64::from(took))) }
                })
                .collect();
            prop_assert_eq!(Ends::new(ends.iter().copied()).iter().collect::<Vec<_>>(), ends);
        }

        #[test]
        fn damaged_columns_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..40), len in 0u64..100) {
            let ends = Ends { tasks: vec![OrdinalRange::new(Ordinal(0), len)], first: Tick(0), times: bytes.into() };
            prop_assert!(ends.iter().count() as u64 <= len);
        }
    }

    #[test]
    fn millisecond_tasks_take_at_most_four_bytes() {
        let ends = (0..100).map(|i| End { task: Ordinal(i), start: Tick(i * 1050), end: Tick(i * 1050 + 1000) });
        assert!(Ends::new(ends).times.len() <= 400);
    }
}

//! Jobs, submits, grants and workers as the state keeps them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use hq_core::{
    Allocation, ClassId, DepKind, GrantId, IdList, JobId, JobSpec, LossReason, Ordinal, OrdinalRange, Profile,
    RangeSet, Span, Submit, TaskCounts, TaskIds, TaskNumber, Tick, WorkerConfig, WorkerId,
};

use super::{graph::Graph, owner::OwnerId, queue::TaskQueue};
use crate::pool::Pools;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) spec: JobSpec,
    pub(crate) is_open: bool,
    /// It ends with the client that made it.
    pub(crate) is_bound: bool,
    pub(crate) counts: TaskCounts,
    pub(crate) cancel_reason: Option<String>,
    pub(crate) created: Tick,
    pub(crate) ended: Option<Tick>,
    pub(crate) submits: Vec<Ordinal>,
    /// Submits by their smallest task number.
    pub(crate) by_number: BTreeMap<u32, Ordinal>,
    /// The largest task number.
    pub(crate) top: Option<u32>,
    /// Tasks of later submits that wait for a task of an earlier one.
    pub(crate) cross: BTreeMap<Ordinal, Vec<(Ordinal, DepKind)>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SubmitState {
    pub(crate) job: JobId,
    pub(crate) at: Tick,
    pub(crate) submit: Arc<Submit>,
    /// Queue per profile.
    pub(crate) keys: Vec<QueueKey>,
    pub(crate) graph: Option<Graph>,
    /// Jobs that it still waits for as a whole: none of its tasks is ready before that is 0.
    pub(crate) shut: u32,
    /// Ended without ever having a record.
    pub(crate) canceled: RangeSet,
    /// Ended without ever having a record.
    pub(crate) aborted: RangeSet,
}

impl SubmitState {
    pub(crate) fn len(&self) -> u64 {
        self.submit.ids.count()
    }

    /// The numbers; a submit in the state always has settled ones.
    pub(crate) fn ids(&self) -> Option<&IdList> {
        match &self.submit.ids {
            TaskIds::Given(ids) => Some(ids),
            TaskIds::Next(_) => None,
        }
    }

    pub(crate) fn number(&self, index: u64) -> TaskNumber {
        TaskNumber(self.ids().and_then(|ids| ids.get(index)).unwrap_or(0))
    }

    pub(crate) fn index_of(&self, number: TaskNumber) -> Option<u64> {
        self.ids()?.index_of(number.0)
    }

    /// The queue of the task at `index`.
    pub(crate) fn key(&self, index: u64) -> QueueKey {
        self.keys[usize::from(self.submit.profile_index(index))]
    }
}

/// Names a ready queue. Sorted by priority, the larger first, then by class.
///
/// All that an order may look at is alike within a queue, so that its rank is the rank of each task in it. Estimate and
/// owner are part of the queue and not of the class: what fits where does not depend on them, and a lane goes on with
/// tasks of any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct QueueKey {
    priority: std::cmp::Reverse<i32>,
    pub(crate) class: ClassId,
    /// How long its tasks run, at most, as far as somebody has said so.
    pub(crate) estimate: Option<Span>,
    pub(crate) owner: OwnerId,
}

impl QueueKey {
    pub(crate) fn new(profile: &Profile, class: ClassId, owner: OwnerId) -> Self {
        let priority = std::cmp::Reverse(profile.priority);
        Self { priority, class, estimate: profile.estimate(), owner }
    }

    pub(crate) const fn priority(self) -> i32 {
        self.priority.0
    }
}

/// A lane or a gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    /// The one whose lane it is; of a gang the main one.
    pub(crate) worker: WorkerId,
    /// The other members of a gang.
    pub(crate) others: Vec<WorkerId>,
    pub(crate) class: ClassId,
    pub(crate) variant: u8,
    pub(crate) allocation: Arc<Allocation>,
    pub(crate) opened: Tick,
    /// Its tasks in order, the running one first. May hold tasks that have ended for the books and not yet at the worker.
    pub(crate) tasks: TaskQueue,
    /// The task that is known to run.
    pub(crate) running: Option<Ordinal>,
}

impl Grant {
    /// One; of a gang all, the main one first.
    pub(crate) fn workers(&self) -> impl Iterator<Item = WorkerId> + '_ {
        std::iter::once(self.worker).chain(self.others.iter().copied())
    }

    /// The first task that has not started as far as is known.
    pub(crate) fn next(&self) -> Option<Ordinal> {
        let first = |range: OrdinalRange| match self.running {
            Some(running) if running == range.start => (range.len > 1).then(|| range.start.plus(1)),
            _ => Some(range.start),
        };
        self.tasks.iter().find_map(first)
    }

    /// What has not started as far as is known: all but the running task.
    pub(crate) fn backlog(&self) -> Vec<OrdinalRange> {
        let Some(running) = self.running else { return self.tasks.iter().collect() };
        let mut rest = self.tasks.clone();
        rest.remove(OrdinalRange::one(running));
        rest.iter().collect()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Worker {
    pub(crate) config: Arc<WorkerConfig>,
    pub(crate) joined: Tick,
    pub(crate) pools: Pools,
    pub(crate) grants: BTreeSet<GrantId>,
    /// The gang it is part of.
    pub(crate) gang: Option<GrantId>,
    /// The newest lane or gang here, for placements that take turns.
    pub(crate) last_lane: Option<GrantId>,
    pub(crate) last_task: Option<(Ordinal, Tick)>,
}

impl Worker {
    /// When it ends by itself.
    pub(crate) fn deadline(&self) -> Option<Tick> {
        self.config.time_limit.map(|limit| self.joined.after(limit))
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.grants.is_empty() && self.gang.is_none()
    }
}

/// A worker that is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LostWorker {
    pub(crate) config: Arc<WorkerConfig>,
    pub(crate) joined: Tick,
    pub(crate) lost: Tick,
    pub(crate) reason: LossReason,
    pub(crate) last_task: Option<(Ordinal, Tick)>,
}

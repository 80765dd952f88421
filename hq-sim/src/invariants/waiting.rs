//! What waits, as the books tell of it: the naive view that progress is held against.

use std::collections::{BTreeMap, BTreeSet};

use hq_core::{CrashLimit, Ordinal, Request, TaskState, Tick, Variants, WorkerId};
use hq_scheduler::{Scheduler, pool::Pools};

use crate::model::{Model, ModelTask, ModelWorker};

/// Tasks that could start but for room, alike in priority and in what they need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting<'a> {
    /// Any of them.
    pub(super) task: &'a ModelTask,
    /// The one that came first.
    pub(super) first: Ordinal,
    pub(super) count: u64,
}

impl<'a> Waiting<'a> {
    pub(super) fn variants(&self) -> &'a Variants {
        &self.task.profile().variants
    }

    pub(super) fn priority(&self) -> i32 {
        self.task.profile().priority
    }

    /// Whether a worker could run one if it were idle, time left aside; a member of a gang is a whole worker.
    pub(super) fn could_ever_use(&self, worker: &ModelWorker) -> bool {
        let idle = Pools::new(&worker.config.resources);
        worker.config.runs(self.task.kind())
            && (self.variants().is_gang() || self.variants().iter().any(|request| idle.allocate(request).is_some()))
    }

    /// The same with the time that the worker has left.
    pub(super) fn could_use(&self, worker: &ModelWorker, at: Tick) -> bool {
        let idle = Pools::new(&worker.config.resources);
        let fits = |request: &Request| self.variants().is_gang() || idle.allocate(request).is_some();
        worker.config.runs(self.task.kind())
            && self.variants().iter().any(|request| lives_for(worker, at, request) && fits(request))
    }

    /// Whether the order that decides prefers these; none where it is not known what it prefers.
    pub(super) fn is_before(&self, other: &Self, model: &Model) -> Option<bool> {
        let gang = self.variants().is_gang() && !other.variants().is_gang();
        match model.order() {
            "priority" if self.priority() == other.priority() => Some(gang),
            "priority" => Some(self.priority() > other.priority()),
            "fcfs" => Some(self.first < other.first),
            _ => None,
        }
    }
}

/// All that waits, by priority and need. What may never run twice is a class of its own: it holds its own places.
pub(super) fn waiting(model: &Model) -> Vec<Waiting<'_>> {
    let mut all: BTreeMap<(i32, &Variants, &str, bool), Waiting<'_>> = BTreeMap::new();
    for id in &model.unfinished {
        let Some(task) = model.tasks.get(id) else { continue };
        if task.state != TaskState::Waiting || task.grant.is_some() || task.until.is_some() || !task.is_ready(model) {
            continue;
        }
        let profile = task.profile();
        let key = (profile.priority, &profile.variants, task.kind(), profile.crash_limit == CrashLimit::NeverRestart);
        all.entry(key).or_insert(Waiting { task, first: *id, count: 0 }).count += 1;
    }
    all.into_values().collect()
}

/// Whether a worker lives long enough to start it.
pub(super) fn lives_for(worker: &ModelWorker, at: Tick, request: &Request) -> bool {
    worker.deadline().is_none_or(|deadline| at < deadline && deadline.since(at) >= request.min_time())
}

/// Workers that are part of a gang: all of them is taken.
pub(super) fn in_gangs(model: &Model) -> BTreeSet<WorkerId> {
    model
        .grants
        .values()
        .chain(model.suspended.values())
        .filter(|grant| grant.is_gang)
        .flat_map(|grant| grant.workers.iter().copied())
        .collect()
}

/// Whether a worker outside of gangs could start one of them right now.
pub(super) fn has_room(core: &Scheduler, worker: (WorkerId, &ModelWorker), at: Tick, needs: &Waiting<'_>) -> bool {
    let Some(pools) = core.pools(worker.0) else { return false };
    worker.1.config.runs(needs.task.kind())
        && !needs.variants().is_gang()
        && needs.variants().iter().any(|request| lives_for(worker.1, at, request) && pools.allocate(request).is_some())
}

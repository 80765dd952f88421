use std::collections::BTreeMap;

use hq_core::{Blocker, Obstacle, Tick, WorkerId};

use crate::{
    Scheduler,
    policy::{PassRule, Rank},
    pool::Pools,
    round::{Asker, Blockers},
    state::QueueKey,
};

impl Scheduler {
    /// Whether a worker is held for tasks that have no room yet, and nothing may pass them: a gang, or any where the order
    /// is strict.
    pub(crate) fn is_reserved(&self, worker: WorkerId) -> bool {
        let strict = self.policies.order().pass_rule() == PassRule::Strict;
        let closes = |key: &QueueKey| strict || self.state.classes.get(key.class).is_gang();
        self.mind.held.iter().any(|(key, held)| closes(key) && self.holds(*key, held, worker))
    }
}

/// Who holds places, as a round would find it with all queues as they are.
pub(super) struct Held<'a> {
    scheduler: &'a Scheduler,
    now: Tick,
    blockers: Blockers,
    /// Those that were met, and their places in the explanation.
    met: BTreeMap<QueueKey, u32>,
    named: Vec<Blocker>,
}

impl<'a> Held<'a> {
    pub(super) fn new(scheduler: &'a Scheduler, now: Tick) -> Self {
        Self { scheduler, now, blockers: scheduler.all_blocked(now), met: BTreeMap::new(), named: vec![] }
    }

    /// Whether one more of a queue would be kept off a worker on which it fits, and by whom.
    pub(super) fn place_of(&mut self, rank: Rank, own: QueueKey, worker: WorkerId, pools: &Pools) -> Option<Obstacle> {
        let by = self.scheduler.who_keeps_off(self.asker(rank, own, worker), &mut self.blockers, pools)?;
        self.name(by)
    }

    /// Whether a gang would be kept off an idle worker, and by whom.
    pub(super) fn gang_place_of(&mut self, rank: Rank, own: QueueKey, worker: WorkerId) -> Option<Obstacle> {
        let by = self.scheduler.who_keeps_gangs_off(self.asker(rank, own, worker), &mut self.blockers)?;
        self.name(by)
    }

    const fn asker(&self, rank: Rank, queue: QueueKey, worker: WorkerId) -> Asker {
        Asker { now: self.now, rank, queue, worker }
    }

    pub(super) fn into_blockers(self) -> Vec<Blocker> {
        self.named
    }

    fn name(&mut self, key: QueueKey) -> Option<Obstacle> {
        if let Some(by) = self.met.get(&key) {
            return Some(Obstacle::Held { by: *by });
        }
        let core = self.scheduler;
        let waiting = core.state.ready.get(&key)?;
        let (job, task) = core.locate(waiting.first()?)?;
        let blocker = Blocker {
            job,
            task,
            priority: key.priority(),
            rank: core.rank(self.now, key)?,
            waiting: waiting.len(),
            nodes: core.state.classes.get(key.class).nodes(),
        };
        let by = u32::try_from(self.named.len()).unwrap_or(u32::MAX);
        self.named.push(blocker);
        self.met.insert(key, by);
        Some(Obstacle::Held { by })
    }
}

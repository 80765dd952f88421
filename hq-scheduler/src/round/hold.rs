//! Places that are held from one round to the next: what is not needed any more is room for others.

use std::{collections::BTreeSet, sync::Arc};

use hq_core::{Request, Span, Tick, WorkerId};

use super::blocked::Blockers;
use crate::{
    Scheduler,
    mind::Held,
    policy::{PassRule, Rank},
    state::QueueKey,
};

impl Scheduler {
    /// Notes which workers are held for what stood in the way of others. Those that are not held any more have room.
    pub(super) fn hold(&mut self, now: Tick, blockers: &mut Blockers) {
        let keys: BTreeSet<QueueKey> = self.mind.held.keys().chain(&blockers.in_the_way).copied().collect();
        for key in keys {
            let rank = self.mind.ranks.of(key);
            let overdue = self.holders_of_overdue(now, blockers, key);
            let at = blockers.reserved_at(key);
            let before = match self.holders(now, blockers, key) {
                Some(workers) => self.mind.held.insert(key, Held { workers, overdue, rank, at }),
                None if self.holds_all(now, key) => {
                    self.mind.held.insert(key, Held { workers: None, overdue, rank, at: None })
                }
                None => self.mind.held.remove(&key),
            };
            if let Some(before) = before {
                self.release(key, &before);
            }
        }
        // What was placed afterwards may have moved the hold that kept others off.
        let freed: Vec<WorkerId> =
            blockers.kept.iter().copied().filter(|worker| !self.is_held_for_any(*worker)).collect();
        self.mind.dirty_workers.extend(freed);
        self.mind.held_until = self.next_lapse(now);
    }

    fn is_held_for_any(&self, worker: WorkerId) -> bool {
        self.mind.held.iter().any(|(key, held)| self.holds(*key, held, worker))
    }

    /// Whether a worker is held for a queue.
    pub(crate) fn holds(&self, key: QueueKey, held: &Held, worker: WorkerId) -> bool {
        match &held.workers {
            Some(workers) => workers.contains(&worker),
            None => self.mind.makes.can(worker, key.class),
        }
    }

    /// Whether all workers that could ever run its class are held for a queue, and still are to be.
    pub(super) fn holds_all(&self, now: Tick, key: QueueKey) -> bool {
        self.mind.held.get(&key).is_some_and(|held| held.workers.is_none()) && self.wants_all(now, key)
    }

    /// Whether all workers that could ever run its class are to be held for a queue while it is blocked.
    pub(super) fn wants_all(&self, now: Tick, key: QueueKey) -> bool {
        self.queue_view(now, key).map(|view| self.needed(key, &view)).is_some_and(|(needed, rule)| {
            matches!(rule, PassRule::Gap | PassRule::Strict) && self.all_are_held(key.class, needed)
        })
    }

    /// What is not held any more for a queue has room.
    fn release(&mut self, key: QueueKey, before: &Held) {
        let after = self.mind.held.get(&key);
        if let Some(after) = after {
            // For equals there is room again where no more is held than for what goes by its rank.
            self.mind.dirty_workers.extend(before.overdue.difference(&after.overdue));
        }
        let released: Vec<WorkerId> = match (&before.workers, after.map(|held| &held.workers)) {
            // The head of the queue has got a place, and the next one is not first; or what is reserved is for later now, and
            // more can be done before.
            _ if after.is_some_and(|now| now.rank > before.rank || now.at > before.at) => {
                self.workers_held(key, before).collect()
            }
            (_, Some(None)) => return,
            (Some(before), Some(Some(now))) => before.difference(now).copied().collect(),
            (None, Some(Some(now))) => {
                self.mind.makes.capable(key.class).filter(|worker| !now.contains(worker)).collect()
            }
            (Some(before), None) => before.iter().copied().collect(),
            (None, None) => self.mind.makes.capable(key.class).collect(),
        };
        self.mind.dirty_workers.extend(released);
    }

    /// Workers that are held for a queue.
    pub(crate) fn workers_held<'a>(&'a self, key: QueueKey, held: &'a Held) -> Box<dyn Iterator<Item = WorkerId> + 'a> {
        match &held.workers {
            Some(workers) => Box::new(workers.iter().copied()),
            None => Box::new(self.mind.makes.capable(key.class)),
        }
    }

    /// Looks for places that are held for tasks that do not wait any more, or that are not first any more: the head of their
    /// queue may have gone into a lane.
    pub(super) fn release_holds(&mut self, now: Tick) {
        self.rank_moved(now);
        self.forget_overdue();
        let lasting = self.policies.order().keeps_ranks();
        let rank = |key| if lasting { self.mind.ranks.of(key) } else { self.rank(now, key) };
        let mut dirty = Vec::new();
        for (key, held) in &self.mind.held {
            let has = held.workers.as_ref().map_or_else(|| self.mind.makes.count(key.class), |held| held.len() as u64);
            let wants = self.queue_view(now, *key).map_or(0, |view| self.needed(*key, &view).0);
            if wants == 0 || wants < has || rank(*key) > held.rank {
                dirty.extend(self.workers_held(*key, held));
            }
        }
        self.mind.dirty_workers.extend(dirty);
    }

    /// What is held for those that a queue has overtaken is no longer held against it.
    pub(super) fn release_overtaken(&mut self, before: Rank, now: Rank) {
        let mut dirty = Vec::new();
        for (key, held) in &self.mind.held {
            if held.rank.is_some_and(|rank| now < rank && rank < before) {
                dirty.extend(self.workers_held(*key, held));
            }
        }
        self.mind.dirty_workers.extend(dirty);
    }

    /// What was held together with a worker that is gone has to be thought over, unless all are held anyway.
    pub(crate) fn release_with(&mut self, lost: WorkerId) {
        for workers in self.mind.held.values().filter_map(|held| held.workers.as_ref()) {
            if workers.contains(&lost) {
                self.mind.dirty_workers.extend(workers.iter().filter(|worker| **worker != lost));
            }
        }
    }

    /// Some held worker does not live long enough any more for what it is held for.
    pub(crate) fn release_late(&mut self, now: Tick) {
        if self.mind.held_until.take_if(|until| *until <= now).is_some() {
            let held: BTreeSet<WorkerId> =
                self.mind.held.iter().flat_map(|(key, held)| self.workers_held(*key, held)).collect();
            self.mind.dirty_workers.extend(held);
            self.mind.needs_round = true;
        }
    }

    /// The first moment at which one more variant of a class cannot be started, for want of time, on a worker that is held
    /// for it.
    fn next_lapse(&self, now: Tick) -> Option<Tick> {
        if self.mind.deadlines.is_empty() {
            return None;
        }
        let lapse = |(key, held): (&QueueKey, &Held)| {
            let of_request = |request: &Arc<Request>| {
                let needs = request.min_time().less(Span(1));
                let later = self.mind.deadlines.range((now.after(needs).after(Span(1)), WorkerId(0))..);
                later
                    .filter(|(_, worker)| self.holds(*key, held, *worker))
                    .map(|(deadline, _)| deadline.before(needs))
                    .next()
            };
            self.state.classes.get(key.class).requests.iter().filter_map(of_request).min()
        };
        self.mind.held.iter().filter_map(lapse).min()
    }
}

//! Places that are held from one round to the next: what is not needed any more is room for others.

use std::collections::{BTreeMap, BTreeSet};

use hq_core::{Span, Tick, WorkerId};

use super::blocked::Blockers;
use crate::{Scheduler, mind::Held, policy::PassRule, state::QueueKey};

impl Scheduler {
    /// Notes which workers are held for what stood in the way of others. Those that are not held any more have room.
    pub(super) fn hold(&mut self, now: Tick, blockers: &mut Blockers) {
        let keys: BTreeSet<QueueKey> = self.mind.held.keys().chain(&blockers.in_the_way).copied().collect();
        let held = keys.into_iter().filter_map(|key| {
            let workers = self.holders(now, blockers, key)?;
            Some((key, Held { workers, rank: self.rank(now, key), at: blockers.reserved_at(key) }))
        });
        let held: BTreeMap<QueueKey, Held> = held.collect();
        for (key, before) in std::mem::replace(&mut self.mind.held, held) {
            match self.mind.held.get(&key) {
                // The head of the queue has got a place, and the next one is not first; or what is reserved is for later now, and
                // more can be done before.
                Some(now) if now.rank > before.rank || now.at > before.at => {
                    self.mind.dirty_workers.extend(before.workers);
                }
                Some(now) => self.mind.dirty_workers.extend(before.workers.difference(&now.workers)),
                None => self.mind.dirty_workers.extend(before.workers),
            }
        }
        // What was placed afterwards may have moved the hold that kept others off.
        let is_held = |worker: &WorkerId| self.mind.held.values().any(|held| held.workers.contains(worker));
        self.mind.dirty_workers.extend(blockers.kept.iter().filter(|worker| !is_held(worker)));
        let places = self.mind.held.iter().flat_map(|(key, held)| held.workers.iter().map(|worker| (*key, *worker)));
        self.mind.held_until = places.filter_map(|(key, worker)| self.lapse(now, key, worker)).min();
    }

    /// Looks for places that are held for tasks that do not wait any more, or that are not first any more: the head of their
    /// queue may have gone into a lane.
    pub(super) fn release_holds(&mut self, now: Tick) {
        let strict = self.policies.order().pass_rule() == PassRule::Strict;
        for (key, held) in &self.mind.held {
            let whole = strict || self.state.classes.get(key.class).is_gang();
            let needed = if whole { 1 } else { held.workers.len() as u64 };
            let waiting = self.state.ready.get(key).map_or(0, |set| set.len());
            if waiting < needed || self.rank(now, *key) > held.rank {
                self.mind.dirty_workers.extend(&held.workers);
            }
        }
    }

    /// What was held together with a worker that is gone has to be thought over.
    pub(crate) fn release_with(&mut self, lost: WorkerId) {
        for held in self.mind.held.values().filter(|held| held.workers.contains(&lost)) {
            self.mind.dirty_workers.extend(held.workers.iter().filter(|worker| **worker != lost));
        }
    }

    /// Some held worker does not live long enough any more for what it is held for.
    pub(crate) fn release_late(&mut self, now: Tick) {
        if self.mind.held_until.take_if(|until| *until <= now).is_some() {
            self.mind.dirty_workers.extend(self.mind.held.values().flat_map(|held| &held.workers));
            self.mind.needs_round = true;
        }
    }

    /// The first moment at which one more variant of the class cannot be started on a worker for want of time.
    fn lapse(&self, now: Tick, key: QueueKey, worker: WorkerId) -> Option<Tick> {
        let deadline = self.state.workers.get(&worker)?.deadline()?;
        let requests = self.state.classes.get(key.class).requests.iter();
        let lapses = requests.map(|request| deadline.before(request.min_time().less(Span(1))));
        lapses.filter(|at| *at > now).min()
    }
}

//! Places that are held from one round to the next: what is not needed any more is room for others.

use std::collections::BTreeSet;

use hq_core::{Span, Tick, WorkerId};

use super::blocked::Blocked;
use crate::{Scheduler, policy::PassRule};

impl Scheduler {
    /// Notes which places are held from now on. Workers of which less is held than before have room.
    pub(super) fn hold(&mut self, now: Tick, blocked: Vec<Blocked>) {
        for old in std::mem::replace(&mut self.mind.held, blocked) {
            match self.mind.held.iter().find(|new| new.key == old.key) {
                Some(new) => self.mind.dirty_workers.extend(old.reserved.difference(&new.reserved)),
                None => self.mind.dirty_workers.extend(old.reserved),
            }
        }
        let lapses = self.mind.held.iter().flat_map(|held| held.reserved.iter().map(move |worker| (held, *worker)));
        self.mind.held_until = lapses.filter_map(|(held, worker)| self.lapse(now, held, worker)).min();
    }

    /// Looks for places that are held for tasks that do not wait any more.
    pub(super) fn release_holds(&mut self) {
        let strict = self.policies.order().pass_rule() == PassRule::Strict;
        for held in &self.mind.held {
            let whole = strict || self.state.classes.get(held.key.class).is_gang();
            let needed = if whole { 1 } else { held.reserved.len() as u64 };
            if self.state.ready.get(&held.key).map_or(0, |set| set.len()) < needed {
                self.mind.dirty_workers.extend(held.reserved.iter().copied());
            }
        }
    }

    /// What was held together with a worker that is gone has to be thought over.
    pub(crate) fn release_with(&mut self, lost: WorkerId) {
        for held in self.mind.held.iter().filter(|held| held.reserved.contains(&lost)) {
            self.mind.dirty_workers.extend(held.reserved.iter().filter(|worker| **worker != lost));
        }
    }

    /// Some held worker does not live long enough any more for what it is held for.
    pub(crate) fn release_late(&mut self, now: Tick) {
        if self.mind.held_until.take_if(|until| *until <= now).is_some() {
            let held: BTreeSet<WorkerId> = self.mind.held.iter().flat_map(|held| &held.reserved).copied().collect();
            self.mind.dirty_workers.extend(held);
            self.mind.needs_round = true;
        }
    }

    /// The first moment at which one more variant of the class cannot be started on a worker for want of time.
    fn lapse(&self, now: Tick, held: &Blocked, worker: WorkerId) -> Option<Tick> {
        let deadline = self.state.workers.get(&worker)?.deadline()?;
        let requests = self.state.classes.get(held.key.class).requests.iter();
        let lapses = requests.map(|request| deadline.before(request.min_time().less(Span(1)).max(Span(1))).after(Span(1)));
        lapses.filter(|at| *at > now).min()
    }
}

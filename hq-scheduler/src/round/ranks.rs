use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

use hq_core::{ClassId, Ordinal, Tick};

use crate::{Scheduler, policy::Rank, state::QueueKey};

/// The queues that wait, the best first; kept from one round to the next.
#[derive(Debug, Default)]
pub(crate) struct Ranks {
    of: BTreeMap<QueueKey, (Rank, Option<Ordinal>)>,
    by_class: BTreeSet<(ClassId, Rank, Option<QueueKey>)>,
    /// The same in order of their first tasks among those of equal rank.
    by_first: BTreeSet<(ClassId, Rank, Option<Ordinal>, Option<QueueKey>)>,
    /// The best queue of each class.
    heads: BTreeSet<(Rank, QueueKey)>,
    /// All of them.
    all: BTreeSet<(Rank, QueueKey)>,
    /// How often a class has begun to wait.
    arrivals: u64,
}

impl Ranks {
    /// Says the rank of a queue and its first task, or that it does not wait any more.
    fn set(&mut self, key: QueueKey, rank: Option<Rank>, first: Option<Ordinal>) {
        let before = match rank {
            Some(rank) => self.of.insert(key, (rank, first)),
            None => self.of.remove(&key),
        };
        let own = |(rank, first)| (key.class, rank, first, Some(key));
        if let Some(before) = before {
            self.by_first.remove(&own(before));
        }
        self.by_first.extend(rank.map(|rank| own((rank, first))));
        let before = before.map(|(rank, _)| rank);
        if before == rank {
            return;
        }
        match self.head(key.class) {
            Some(head) => _ = self.heads.remove(&head),
            None => self.arrivals += 1,
        }
        if let Some(before) = before {
            self.by_class.remove(&(key.class, before, Some(key)));
            self.all.remove(&(before, key));
        }
        self.by_class.extend(rank.map(|rank| (key.class, rank, Some(key))));
        self.all.extend(rank.map(|rank| (rank, key)));
        self.heads.extend(self.head(key.class));
    }

    /// No queue has a rank any more.
    fn clear(&mut self) {
        *self = Self { arrivals: self.arrivals, ..Self::default() };
    }

    /// Whoever has seen what waits has to look again.
    pub(crate) const fn stir(&mut self) {
        self.arrivals += 1;
    }

    /// Grows whenever a class waits that did not.
    pub(crate) const fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// The first class that waits, from this one on in order of their ids.
    pub(crate) fn waiting_from(&self, class: ClassId) -> Option<ClassId> {
        self.by_class.range((class, (i64::MIN, i64::MIN), None)..).next().map(|(class, ..)| *class)
    }

    /// Rank of a queue; none where it does not wait.
    pub(super) fn of(&self, key: QueueKey) -> Option<Rank> {
        self.of.get(&key).map(|(rank, _)| *rank)
    }

    /// The best queue of each class, from the best rank down.
    pub(super) fn heads(&self) -> impl Iterator<Item = (Rank, QueueKey)> + '_ {
        self.heads.iter().copied()
    }

    /// Whether any queue of the class waits.
    pub(super) fn waits(&self, class: ClassId) -> bool {
        self.head(class).is_some()
    }

    /// The best queue of a class.
    fn head(&self, class: ClassId) -> Option<(Rank, QueueKey)> {
        let (other, rank, key) = self.by_class.range((class, (i64::MIN, i64::MIN), None)..).next()?;
        (*other == class).then_some((*rank, (*key)?))
    }

    /// The best queue of a class; of those of equal rank the one whose first task came first.
    pub(super) fn first_of_best(&self, class: ClassId) -> Option<(Rank, QueueKey)> {
        let (rank, _) = self.head(class)?;
        let mut queues = self.by_first.range((class, rank, None, None)..);
        queues.next().and_then(|(_, rank, _, key)| Some((*rank, (*key)?)))
    }
}

/// A walk over the queues that wait, level by level.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// How far it has come.
    reached: Option<(Rank, QueueKey)>,
    /// Queues that are to be visited once more.
    again: BTreeSet<(Rank, QueueKey)>,
    /// Those that were visited for good.
    done: BTreeSet<QueueKey>,
}

impl Walk {
    /// All queues of the best rank that were not visited yet.
    pub(super) fn level(&mut self, ranks: &Ranks) -> Option<(Rank, Vec<QueueKey>)> {
        let from = self.reached.map_or(Bound::Unbounded, Bound::Excluded);
        let mut new = ranks.all.range((from, Bound::Unbounded)).filter(|(_, key)| !self.done.contains(key)).peekable();
        let rank = self.again.first().into_iter().chain(new.peek().copied()).map(|(rank, _)| *rank).min()?;
        let mut level: Vec<QueueKey> = Vec::new();
        while let Some(queue) = new.next_if(|(other, _)| *other == rank) {
            self.reached = Some(*queue);
            level.push(queue.1);
        }
        while let Some((_, key)) = self.again.first().filter(|(other, _)| *other == rank).copied() {
            self.again.pop_first();
            level.push(key);
        }
        level.sort_unstable();
        level.retain(|key| self.done.insert(*key));
        Some((rank, level))
    }

    /// Whether a queue was visited for good.
    pub(super) fn has_seen(&self, key: QueueKey) -> bool {
        self.done.contains(&key)
    }

    /// Visits a queue once more, at the rank it has by now.
    pub(super) fn again(&mut self, ranks: &Ranks, key: QueueKey) {
        if let Some(rank) = ranks.of(key) {
            self.done.remove(&key);
            self.again.insert((rank, key));
        }
    }
}

impl Scheduler {
    /// Ranks all queues, unless their ranks last.
    pub(super) fn rank_all(&mut self, now: Tick) {
        self.release_unfilled();
        if !self.policies.order().keeps_ranks() {
            self.mind.moved.extend(self.state.ready.keys());
        }
        self.rank_those(now);
    }

    /// Ranks a queue for which something else has changed.
    pub(super) fn rank_again(&mut self, now: Tick, key: QueueKey) {
        let rank = self.rank(now, key);
        self.set_rank(key, rank);
    }

    fn set_rank(&mut self, key: QueueKey, rank: Option<Rank>) {
        let before = self.mind.ranks.of(key);
        self.mind.ranks.set(key, rank, self.head_of(key));
        if let Some(before) = before.filter(|before| Some(*before) != rank) {
            self.mind.waits.leave(key, before);
        }
        if let (Some(before), Some(rank)) = (before, rank) {
            self.release_overtaken(before, rank);
        }
    }

    /// Ranks the queues that got or lost tasks.
    pub(super) fn rank_moved(&mut self, now: Tick) {
        self.release_unfilled();
        self.rank_those(now);
    }

    fn rank_those(&mut self, now: Tick) {
        if self.state.workers.is_empty() {
            // Nobody asks; the first worker that comes has all of them ranked.
            self.mind.moved.clear();
            self.mind.settled.clear();
            self.mind.ranks.clear();
            self.mind.waits.leave_all();
            return;
        }
        for key in std::mem::take(&mut self.mind.moved) {
            self.mind.effort.ranked += 1;
            let rank = self.rank(now, key);
            if rank.is_some() {
                self.learn_capable(key.class);
            }
            match (rank, self.mind.settled.get_mut(&key)) {
                (None, _) => drop(self.mind.settled.remove(&key)),
                (Some(rank), Some(settled)) => *settled = rank.max(*settled),
                (Some(_), None) => {}
            }
            self.set_rank(key, rank);
        }
    }
}

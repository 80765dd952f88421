use std::collections::{BTreeMap, BTreeSet};

use hq_core::Tick;

use crate::{Scheduler, policy::Rank, state::QueueKey};

/// The queues that wait, the best first.
#[derive(Debug, Default)]
pub(super) struct Ranks {
    sorted: BTreeSet<(Rank, QueueKey)>,
    of: BTreeMap<QueueKey, Rank>,
}

impl Ranks {
    /// Says the rank of a queue, or that it does not wait any more.
    pub(super) fn set(&mut self, key: QueueKey, rank: Option<Rank>) {
        if let Some(before) = self.of.remove(&key) {
            self.sorted.remove(&(before, key));
        }
        if let Some(rank) = rank {
            self.sorted.insert((rank, key));
            self.of.insert(key, rank);
        }
    }

    /// All, from the best rank down.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Rank, QueueKey)> + '_ {
        self.sorted.iter().copied()
    }

    /// Takes out all queues of the best rank.
    pub(super) fn pop_level(&mut self) -> Option<(Rank, Vec<QueueKey>)> {
        let (rank, _) = *self.sorted.first()?;
        let mut level = Vec::new();
        while let Some((_, key)) = self.sorted.first().copied().filter(|(next, _)| *next == rank) {
            self.set(key, None);
            level.push(key);
        }
        Some((rank, level))
    }
}

impl Scheduler {
    /// The ranks of all queues that wait.
    pub(super) fn ranks(&self, now: Tick) -> Ranks {
        let mut ranks = Ranks::default();
        for key in self.state.ready.keys() {
            ranks.set(*key, self.rank(now, *key));
        }
        ranks
    }
}

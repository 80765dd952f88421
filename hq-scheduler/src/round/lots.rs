//! Queues of one class and one level are placed as one: which of them a task comes from makes no difference to a worker.

use std::collections::BTreeMap;

use hq_core::{ClassId, Ordinal};

use crate::{Scheduler, state::QueueKey};

/// Queues of a level by lots: those of one lot are placed as one queue.
pub(super) struct Lots {
    /// The queue of each lot that stands for all of it: the one that came first in the level.
    pub(super) keys: Vec<QueueKey>,
    /// How many tasks of each lot may be placed.
    pub(super) budgets: Vec<u64>,
    /// Lots and their queues as places in the level, by lot, and the one with the earliest task first.
    members: Vec<(usize, usize)>,
}

impl Lots {
    /// Gives what was placed to the queues, by lot in order: to those with the earliest task first, to each within its budget.
    pub(super) fn hand_out<T>(&self, placed: Vec<Vec<T>>, budgets: &[u64]) -> Vec<Vec<T>> {
        if placed.len() == budgets.len() {
            return placed; // Each queue is a lot.
        }
        let mut by_queue: Vec<Vec<T>> = budgets.iter().map(|_| vec![]).collect();
        let mut placed: Vec<_> = placed.into_iter().map(Vec::into_iter).collect();
        for (lot, i) in &self.members {
            let n = usize::try_from(budgets[*i]).unwrap_or(usize::MAX);
            by_queue[*i].extend(placed[*lot].by_ref().take(n));
        }
        by_queue
    }
}

impl Scheduler {
    /// Queues that are `alike`, too, make a lot; each alone where places are reserved, which looks at how long a task runs.
    pub(super) fn lots(
        &self,
        keys: &[QueueKey],
        budgets: &[u64],
        reserved: bool,
        alike: impl Fn(&QueueKey) -> bool,
    ) -> Lots {
        let mut lots = Lots { keys: vec![], budgets: vec![], members: Vec::with_capacity(keys.len()) };
        let mut known: BTreeMap<(ClassId, bool), usize> = BTreeMap::new();
        for (i, (key, budget)) in keys.iter().zip(budgets).enumerate() {
            let next = lots.keys.len();
            let lot = if reserved { next } else { *known.entry((key.class, alike(key))).or_insert(next) };
            if lot == next {
                lots.keys.push(*key);
                lots.budgets.push(*budget);
            } else {
                lots.budgets[lot] = lots.budgets[lot].saturating_add(*budget);
            }
            lots.members.push((lot, i));
        }
        if lots.keys.len() < keys.len() {
            lots.members.sort_by_cached_key(|(lot, i)| (*lot, self.head_of(keys[*i])));
        }
        lots
    }

    /// The first task of a queue.
    pub(super) fn head_of(&self, key: QueueKey) -> Option<Ordinal> {
        self.state.ready.get(&key)?.first()
    }
}

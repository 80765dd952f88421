//! Queues in order of rank, each as far as it fits.

use std::collections::BTreeSet;

use hq_core::{Tick, WorkerId};

use super::blocked::Blockers;
use crate::{Scheduler, state::QueueKey};

impl Scheduler {
    /// Places what fits: queues that got tasks on all workers, the others on those that got room. Returns the queues that
    /// still wait for workers which could run them.
    pub(super) fn place(&mut self, now: Tick, workers: &BTreeSet<WorkerId>, queues: &BTreeSet<QueueKey>) -> Blockers {
        let mut waiting = self.ranks(now);
        let mut blockers = Blockers::default();
        while let Some((rank, level)) = waiting.pop_level() {
            for key in self.by_value(level) {
                let candidates = if queues.contains(&key) { None } else { Some(workers) };
                let budget = self.queue_view(now, key).map_or(0, |view| self.policies.order().stride(&view).max(1));
                let placed = self.place_queue(now, key, rank, budget, candidates, &mut blockers);
                match self.rank(now, key) {
                    None => {}
                    Some(next) if placed == budget => {
                        waiting.set(key, Some(next));
                    }
                    Some(_) => self.block(&mut blockers, key, rank),
                }
            }
        }
        blockers
    }

    /// Within a level: gangs first, then the most valuable class, then the task that came first.
    fn by_value(&self, mut level: Vec<QueueKey>) -> Vec<QueueKey> {
        if level.len() < 2 {
            return level;
        }
        level.sort_by_cached_key(|key| {
            let class = self.state.classes.get(key.class);
            let head = self.state.ready.get(key).and_then(|set| set.first());
            let value = class.requests.iter().map(|request| self.value_anywhere(request)).max().unwrap_or(0);
            (!class.is_gang(), std::cmp::Reverse(value), head)
        });
        level
    }

    /// Value of a request on the worker where it is largest; only `all` makes a difference.
    fn value_anywhere(&self, request: &hq_core::Request) -> u64 {
        if request.entries().iter().all(|entry| entry.quantity != hq_core::Quantity::All) {
            return self.state.workers.values().next().map_or(0, |worker| self.value(request, &worker.pools));
        }
        self.state.workers.values().map(|worker| self.value(request, &worker.pools)).max().unwrap_or(0)
    }
}

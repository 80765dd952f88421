//! Queues in order of rank, each as far as it fits.

use std::collections::{BTreeMap, BTreeSet};

use hq_core::{ClassId, Tick, WorkerId};

use super::{blocked::Blockers, ranks::Walk};
use crate::{Scheduler, state::QueueKey};

impl Scheduler {
    /// Places what fits: queues that got tasks on all workers, the others on those that got room. Returns the queues that
    /// still wait for workers which could run them.
    pub(super) fn place(&mut self, now: Tick, workers: &BTreeSet<WorkerId>, queues: &BTreeSet<QueueKey>) -> Blockers {
        self.rank_all(now);
        let mut walk = Walk::new(&self.mind.ranks);
        let mut blockers = Blockers::default();
        let mut started = 0u64;
        let mut looked_at: BTreeMap<QueueKey, u64> = BTreeMap::new();
        while let Some((rank, mut level)) = walk.level(&self.mind.ranks) {
            if started > 0 && !self.state.owners.is_empty() {
                // What has been started since may have cost others of its owner their rank.
                let mut is_new = |key: &QueueKey| looked_at.insert(*key, started) != Some(started);
                let moved = level.extract_if(.., |key| is_new(key) && self.rank(now, *key) > Some(rank));
                for key in moved.collect::<Vec<QueueKey>>() {
                    self.rank_again(now, key);
                    walk.again(&self.mind.ranks, key);
                }
            }
            let level = self.by_value(level);
            let budgets: Vec<u64> = level.iter().map(|key| self.budget(now, *key)).collect();
            let gangs = level.iter().take_while(|key| self.state.classes.get(key.class).is_gang()).count();
            let single = if self.policies.placement().fills_workers() { gangs } else { level.len() };
            let mut placed = Vec::new();
            for (key, budget) in level.iter().zip(&budgets).take(single) {
                let candidates = if queues.contains(key) { None } else { Some(workers) };
                placed.push(self.place_queue(now, *key, rank, *budget, candidates, &mut blockers));
                // What a gang waits for is held before others of its level are looked at.
                if placed.len() <= gangs && self.state.ready.contains_key(key) && placed.last() != Some(budget) {
                    self.block(now, &mut blockers, *key, rank);
                }
            }
            let (keys, rest) = (&level[single..], &budgets[single..]);
            placed.extend(self.fill_workers(now, keys, rank, rest, workers, queues, &mut blockers));
            started += placed.iter().sum::<u64>();
            self.rank_moved(now);
            self.note_placed(&mut blockers, &level, &placed);
            for (i, key) in level.into_iter().enumerate() {
                match self.mind.ranks.of(key) {
                    None => {}
                    Some(_) if placed[i] == budgets[i] => walk.again(&self.mind.ranks, key),
                    Some(_) if i < gangs => {}
                    Some(_) => self.block(now, &mut blockers, key, rank),
                }
            }
        }
        blockers
    }

    /// Where places are held depends on what runs: for a class on its own lanes, for a gang on all.
    fn note_placed(&self, blockers: &mut Blockers, level: &[QueueKey], placed: &[u64]) {
        let classes: BTreeSet<ClassId> =
            level.iter().zip(placed).filter(|(_, n)| **n > 0).map(|(key, _)| key.class).collect();
        if !classes.is_empty() {
            blockers.forget_orders(|class| classes.contains(&class) || self.state.classes.get(class).is_gang());
        }
    }

    /// How many tasks of a queue may be placed before ranks are looked at again.
    fn budget(&self, now: Tick, key: QueueKey) -> u64 {
        self.queue_view(now, key).map_or(0, |view| self.policies.order().stride(&view).max(1))
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

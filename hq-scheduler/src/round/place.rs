//! Queues in order of rank, each as far as it fits.

use std::collections::{BTreeMap, BTreeSet};

use hq_core::{ClassId, Tick, WorkerId};

use super::{blocked::Blockers, ranks::Walk, reach::Reach};
use crate::{
    Scheduler,
    mind::Mind,
    policy::{PassRule, Rank},
    state::QueueKey,
};

/// Of how many fresh queues of a class nobody has looked at the first task that waits.
#[derive(Default)]
struct Unseen(BTreeMap<ClassId, usize>);

impl Unseen {
    fn add(&mut self, class: ClassId) {
        *self.0.entry(class).or_insert(0) += 1;
    }

    fn see(&mut self, class: ClassId) {
        if let Some(n) = self.0.get_mut(&class) {
            *n -= 1;
            if *n == 0 {
                self.0.remove(&class);
            }
        }
    }
}

impl Scheduler {
    /// Places what fits: queues that got tasks on all workers, the others on those that got room. Returns the queues that
    /// still wait for workers which could run them, as far as they matter to others.
    ///
    /// Ends where no class that waits finds room any more: what lies below that is not looked at, unless the order must see it.
    pub(super) fn place(&mut self, now: Tick, workers: &BTreeSet<WorkerId>, queues: &BTreeSet<QueueKey>) -> Blockers {
        self.forget_overdue();
        self.refresh_rooms(None);
        let mut reach = Reach::new(queues, workers, &self.mind.rooms);
        let mut blockers = Blockers::default();
        self.place_together(now, &mut reach, &mut blockers);
        let mut unseen = self.classes_of(queues);
        let mut walk = Walk::default();
        let to_the_end = self.policies.order().pass_rule() == PassRule::Shadow || !self.policies.order().keeps_ranks();
        let mut started = 0u64;
        let mut looked_at: BTreeMap<QueueKey, u64> = BTreeMap::new();
        while (to_the_end || self.any_finds_room(&reach, &mut unseen))
            && let Some((rank, mut level)) = walk.level(&self.mind.ranks)
        {
            if started > 0 && !self.state.owners.is_empty() {
                // What has been started since may have cost others of its owner their rank.
                let mut is_new = |key: &QueueKey| looked_at.insert(*key, started) != Some(started);
                let moved = level.extract_if(.., |key| is_new(key) && self.rank(now, *key) > Some(rank));
                for key in moved.collect::<Vec<QueueKey>>() {
                    self.rank_again(now, key);
                    walk.again(&self.mind.ranks, key);
                }
            }
            self.mind.effort.visited += level.len() as u64;
            let mut open_level = Vec::with_capacity(level.len());
            // Queues of one class come one after the other.
            let mut last: Option<(ClassId, bool, bool)> = None;
            for key in level {
                let fresh = queues.contains(&key);
                if fresh {
                    unseen.see(key.class);
                }
                let finds_room = match last {
                    Some((class, same, finds_room)) if (class, same) == (key.class, fresh) => finds_room,
                    _ => self.finds_room(&reach, key.class, fresh),
                };
                last = Some((key.class, fresh, finds_room));
                if finds_room {
                    open_level.push(key);
                } else {
                    self.block_waiting(now, &mut blockers, key, rank);
                }
            }
            if !open_level.is_empty() {
                let (placed, again) = self.place_level(now, open_level, rank, &mut reach, &mut blockers);
                started += placed;
                self.rank_moved(now);
                self.refresh_rooms(Some(&mut reach));
                for key in again {
                    walk.again(&self.mind.ranks, key);
                    if queues.contains(&key) {
                        unseen.add(key.class);
                    }
                }
            }
        }
        self.block_unseen(now, &walk, queues, &mut blockers);
        blockers
    }

    /// Places the queues of one level; says how many tasks it started, and which queues had all placed that their order
    /// allows for now.
    fn place_level(
        &mut self,
        now: Tick,
        level: Vec<QueueKey>,
        rank: Rank,
        reach: &mut Reach<'_>,
        blockers: &mut Blockers,
    ) -> (u64, Vec<QueueKey>) {
        let mut level = self.by_value(level);
        if self.overdue().next().is_some() {
            let overdue = self.place_overdue(now, &level, rank, reach, blockers);
            level.retain(|key| !overdue.contains(key) && self.state.ready.contains_key(key));
        }
        let budgets: Vec<u64> = level.iter().map(|key| self.budget(now, *key)).collect();
        let gangs = level.iter().take_while(|key| self.state.classes.get(key.class).is_gang()).count();
        let single = if self.policies.placement().fills_workers() { gangs } else { level.len() };
        let mut placed = Vec::new();
        for (key, budget) in level.iter().zip(&budgets).take(single) {
            placed.push(self.place_queue(now, *key, rank, *budget, reach, blockers));
            // What a gang waits for is held before others of its level are looked at.
            if placed.len() <= gangs && self.state.ready.contains_key(key) && placed.last() != Some(budget) {
                self.block_waiting(now, blockers, *key, rank);
            }
            self.refresh_rooms(Some(reach));
        }
        let (keys, rest) = (&level[single..], &budgets[single..]);
        if !keys.is_empty() {
            placed.extend(self.fill_workers(now, keys, rank, rest, reach, blockers));
        }
        self.note_placed(blockers, &level, &placed);
        self.note_started(rank, placed.iter().sum());
        let mut again = Vec::new();
        for (i, key) in level.into_iter().enumerate() {
            if !self.state.ready.contains_key(&key) {
                continue;
            }
            // Also what it had beyond its places may have gone, into backlogs: what comes next blocks by its own rank.
            if placed[i] == budgets[i] || (placed[i] > 0 && self.rank(now, key) > Some(rank)) {
                again.push(key);
            } else if i >= gangs {
                self.block_waiting(now, blockers, key, rank);
            }
        }
        (placed.iter().sum(), again)
    }

    /// Where places are held depends on what runs: for a class on its own lanes and on gangs, for a gang on all; and where
    /// workers are to be used well, on what waits.
    fn note_placed(&self, blockers: &mut Blockers, level: &[QueueKey], placed: &[u64]) {
        let classes: BTreeSet<ClassId> =
            level.iter().zip(placed).filter(|(_, n)| **n > 0).map(|(key, _)| key.class).collect();
        if !classes.is_empty() {
            blockers.gives.forget();
            let is_gang = |class: &ClassId| self.state.classes.get(*class).is_gang();
            let all = !self.mind.choosy.is_empty() || classes.iter().any(is_gang);
            blockers.forget_orders(|class| all || classes.contains(&class) || is_gang(&class));
        }
    }

    /// Classes of queues that wait.
    fn classes_of(&self, queues: &BTreeSet<QueueKey>) -> Unseen {
        let mut unseen = Unseen::default();
        queues.iter().filter(|key| self.mind.ranks.of(**key).is_some()).for_each(|key| unseen.add(key.class));
        unseen
    }

    /// Whether anything that waits finds room: on workers that got some, or of fresh queues on all. Fresh ones that are found to
    /// have none are crossed out.
    fn any_finds_room(&mut self, reach: &Reach<'_>, unseen: &mut Unseen) -> bool {
        let Mind { rooms, ranks, .. } = &mut self.mind;
        if reach.rooms().any(|room| rooms.serves_any(room, ranks, &self.state)) {
            return true;
        }
        while let Some((class, _)) = unseen.0.first_key_value() {
            if self.finds_room(reach, *class, true) {
                return true;
            }
            unseen.0.pop_first();
        }
        false
    }

    /// Blocks what got tasks or holds workers and was not looked at, since nothing finds room so far down.
    fn block_unseen(&mut self, now: Tick, walk: &Walk, queues: &BTreeSet<QueueKey>, blockers: &mut Blockers) {
        let holding = self.mind.held.keys().filter(|key| !self.holds_all(now, **key));
        let unseen = queues.iter().chain(holding).chain(self.overdue()).filter(|key| !walk.has_seen(**key));
        let mut unseen: Vec<(Rank, QueueKey)> =
            unseen.filter_map(|key| Some((self.mind.ranks.of(*key)?, *key))).collect();
        unseen.sort_unstable();
        unseen.dedup();
        unseen.into_iter().for_each(|(rank, key)| self.block_waiting(now, blockers, key, rank));
    }

    /// How many tasks of a queue may be placed before ranks are looked at again.
    pub(super) fn budget(&self, now: Tick, key: QueueKey) -> u64 {
        // An order may say any number: places for tasks that do not wait would be kept from others.
        self.queue_view(now, key).map_or(0, |view| self.policies.order().stride(&view).clamp(1, view.waiting.max(1)))
    }

    /// Within a level: gangs first, then the most valuable class, then the task that came first.
    fn by_value(&self, mut level: Vec<QueueKey>) -> Vec<QueueKey> {
        if level.len() < 2 {
            return level;
        }
        // Queues of one class come one after the other.
        let mut last: Option<(ClassId, u64)> = None;
        level.sort_by_cached_key(|key| {
            let class = self.state.classes.get(key.class);
            let value = match last {
                Some((same, value)) if same == key.class => value,
                _ => class.requests.iter().map(|request| self.value_anywhere(request)).max().unwrap_or(0),
            };
            last = Some((key.class, value));
            (!class.is_gang(), std::cmp::Reverse(value), self.head_of(*key))
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

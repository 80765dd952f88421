//! Queues that have no room, and what may pass them.

use std::collections::{BTreeMap, BTreeSet};

use hq_core::{ClassId, Tick, WorkerId};

use super::lanes::has_time;
use crate::{
    Scheduler,
    policy::{PassRule, Rank},
    pool::Pools,
    state::QueueKey,
};

/// Queues that could use workers which have no room for them now. A worker that is among the first so many of a class, in
/// the order in which its places are held, holds one; the others are not needed.
#[derive(Debug, Default)]
pub(crate) struct Blockers {
    /// By class, in order of rank.
    levels: BTreeMap<ClassId, Vec<Level>>,
    /// How many workers each queue wants to be held.
    needed: BTreeMap<QueueKey, u64>,
    /// Workers that could be held, and their place in the order; only where somebody has asked.
    orders: BTreeMap<ClassId, BTreeMap<WorkerId, u64>>,
    /// Queues for whose sake something was refused.
    pub(super) in_the_way: BTreeSet<QueueKey>,
    /// What was refused where, and will not be allowed any more in this pass: it only gets tighter.
    pub(super) refused: BTreeSet<(ClassId, WorkerId)>,
    /// Workers on which something was refused.
    pub(super) kept: BTreeSet<WorkerId>,
}

#[derive(Debug)]
struct Level {
    rank: Rank,
    key: QueueKey,
    /// The most that this queue or a better one of the class wants to be held.
    most: u64,
}

impl Blockers {
    fn add(&mut self, rank: Rank, key: QueueKey, needed: u64) {
        let levels = self.levels.entry(key.class).or_default();
        let most = levels.last().map_or(needed, |level| level.most.max(needed));
        levels.push(Level { rank, key, most });
        self.needed.insert(key, needed);
    }

    /// Those of `queues` alone.
    pub(super) fn only(&self, queues: &BTreeSet<QueueKey>) -> Self {
        let mut some = Self::default();
        for level in self.levels.values().flatten().filter(|level| queues.contains(&level.key)) {
            some.add(level.rank, level.key, self.needed.get(&level.key).copied().unwrap_or(0));
        }
        some
    }

    /// The order in which places of these classes are held is to be found out anew.
    pub(super) fn forget_orders(&mut self, of: impl Fn(ClassId) -> bool) {
        self.orders.retain(|class, _| !of(*class));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    pub(super) fn classes(&self) -> Vec<ClassId> {
        self.levels.keys().copied().collect()
    }
}

impl Scheduler {
    /// Notes that what is left of a queue has no room.
    pub(super) fn block(&self, blockers: &mut Blockers, key: QueueKey, rank: Rank) {
        let rule = self.policies.order().pass_rule();
        let waiting = self.state.ready.get(&key).map_or(0, |set| set.len());
        let needed =
            if rule == PassRule::Strict || self.state.classes.get(key.class).is_gang() { u64::MAX } else { waiting };
        if rule != PassRule::Free {
            blockers.add(rank, key, needed);
        }
    }

    /// The best queue of `class` for which a place on the worker is held.
    pub(super) fn holder(
        &self,
        now: Tick,
        blockers: &mut Blockers,
        class: ClassId,
        worker: WorkerId,
    ) -> Option<(Rank, QueueKey)> {
        let least = blockers.levels.get(&class)?.first()?.most;
        let position = self.hold_position(now, blockers, class, least, worker)?;
        let levels = blockers.levels.get(&class)?;
        let level = levels.get(levels.partition_point(|level| level.most <= position))?;
        Some((level.rank, level.key))
    }

    /// Workers that hold a place for a queue; nothing where it is not blocked.
    pub(super) fn holders(&self, now: Tick, blockers: &mut Blockers, key: QueueKey) -> Option<BTreeSet<WorkerId>> {
        let needed = *blockers.needed.get(&key)?;
        let workers: Vec<WorkerId> =
            self.mind.capable.get(&key.class).into_iter().flat_map(|known| &known.all).copied().collect();
        let held = |worker: &WorkerId| {
            self.hold_position(now, blockers, key.class, needed, *worker).is_some_and(|position| position < needed)
        };
        Some(workers.into_iter().filter(held).collect())
    }

    /// The worker's place in the order in which places are held for a class; exact only where fewer than `needed` workers
    /// could be.
    fn hold_position(
        &self,
        now: Tick,
        blockers: &mut Blockers,
        class: ClassId,
        needed: u64,
        worker: WorkerId,
    ) -> Option<u64> {
        let capable = &self.mind.capable.get(&class)?.all;
        if needed >= capable.len() as u64 && !self.state.classes.get(class).is_gang() {
            return (capable.contains(&worker) && self.lives_for(now, worker, class)).then_some(0);
        }
        let order = blockers.orders.entry(class).or_insert_with(|| self.hold_order(now, class));
        order.get(&worker).copied()
    }

    /// Workers that run none of the class first, and among them those of high id: low ones fill up first anyway.
    fn hold_order(&self, now: Tick, class: ClassId) -> BTreeMap<WorkerId, u64> {
        if self.state.classes.get(class).is_gang() {
            return self.hold_for_gang(now, class).into_iter().map(|worker| (worker, 0)).collect();
        }
        let lanes = self.state.grants.values().filter(|lane| lane.class == class);
        let running: BTreeSet<WorkerId> = lanes.map(|lane| lane.worker()).collect();
        let capable = self.mind.capable.get(&class).into_iter().flat_map(|known| &known.all).copied();
        let mut order: Vec<WorkerId> = capable.filter(|worker| self.lives_for(now, *worker, class)).collect();
        order.sort_by_key(|worker| (running.contains(worker), std::cmp::Reverse(*worker)));
        order.into_iter().zip(0..).collect()
    }

    fn lives_for(&self, now: Tick, worker: WorkerId, class: ClassId) -> bool {
        self.state.workers.get(&worker).is_some_and(|known| {
            let requests = &self.state.classes.get(class).requests;
            requests
                .iter()
                .any(|request| has_time(known.deadline(), now, request.min_time()) && known.pools.could_ever(request))
        })
    }

    /// Whether one more of `class` may be placed on a worker whose free state is `pools`, past all that are blocked.
    pub(super) fn may_pass(
        &self,
        now: Tick,
        blockers: &mut Blockers,
        rank: Rank,
        class: ClassId,
        worker: WorkerId,
        pools: &Pools,
    ) -> bool {
        let rule = self.policies.order().pass_rule();
        for high in blockers.classes() {
            let Some((_, key)) = self.holder(now, blockers, high, worker).filter(|(better, _)| *better < rank) else {
                continue;
            };
            if rule == PassRule::Strict || self.gap(high, class, worker, pools) == 0 {
                blockers.in_the_way.insert(key);
                blockers.refused.insert((class, worker));
                blockers.kept.insert(worker);
                return false;
            }
        }
        true
    }

    /// Whether a place on the worker is held for a better queue, so that a gang cannot have it.
    pub(super) fn is_held(&self, now: Tick, blockers: &mut Blockers, rank: Rank, worker: WorkerId) -> bool {
        for high in blockers.classes() {
            if let Some((_, key)) = self.holder(now, blockers, high, worker).filter(|(better, _)| *better < rank) {
                blockers.in_the_way.insert(key);
                blockers.kept.insert(worker);
                return true;
            }
        }
        false
    }
}

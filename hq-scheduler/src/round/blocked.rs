//! Queues that have no room, and what may pass them.

use std::collections::{BTreeMap, BTreeSet};

use hq_core::{ClassId, Tick, WorkerId};

use super::{
    lanes::has_time,
    reserve::Reservation,
    timeline::{Booking, Timeline},
};
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
    pub(super) refused: BTreeSet<(QueueKey, WorkerId)>,
    /// Workers on which something was refused.
    pub(super) kept: BTreeSet<WorkerId>,
    /// In order of rank.
    pub(super) reservations: Vec<Reservation>,
    /// Of workers with a reservation; only where somebody has asked.
    pub(super) timelines: BTreeMap<WorkerId, Timeline>,
}

#[derive(Debug)]
struct Level {
    rank: Rank,
    key: QueueKey,
    /// The most that this queue or a better one of the class wants to be held.
    most: u64,
    rule: PassRule,
}

impl Blockers {
    fn add(&mut self, rank: Rank, key: QueueKey, needed: u64, rule: PassRule) {
        let levels = self.levels.entry(key.class).or_default();
        let most = levels.last().map_or(needed, |level| level.most.max(needed));
        levels.push(Level { rank, key, most, rule });
        self.needed.insert(key, needed);
    }

    /// Those of `queues` alone.
    pub(super) fn only(&self, queues: &BTreeSet<QueueKey>) -> Self {
        let mut some = Self::default();
        for level in self.levels.values().flatten().filter(|level| queues.contains(&level.key)) {
            some.add(level.rank, level.key, self.needed.get(&level.key).copied().unwrap_or(0), level.rule);
        }
        some.reservations.extend(self.reservations.iter().filter(|other| queues.contains(&other.key)).cloned());
        some
    }

    /// The order in which places of these classes are held is to be found out anew.
    pub(super) fn forget_orders(&mut self, of: impl Fn(ClassId) -> bool) {
        self.orders.retain(|class, _| !of(*class));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.levels.is_empty() && self.reservations.is_empty()
    }

    /// What is reserved on a worker.
    pub(super) fn booked(&self, worker: WorkerId) -> Vec<Booking> {
        let here = self.reservations.iter().filter(|reservation| reservation.workers.contains(&worker));
        here.map(|reservation| reservation.booking.clone()).collect()
    }

    /// For when a queue has a reservation.
    pub(super) fn reserved_at(&self, key: QueueKey) -> Option<Tick> {
        self.reservations.iter().find(|reservation| reservation.key == key).map(|reservation| reservation.booking.at)
    }

    /// Whether a queue of better rank has a reservation on a worker.
    fn is_reserved(&self, worker: WorkerId, rank: Rank) -> bool {
        self.reservations.iter().any(|reservation| reservation.rank < rank && reservation.workers.contains(&worker))
    }

    /// Something was refused for the sake of what is reserved on a worker.
    fn reservation_refuses(&mut self, worker: WorkerId) {
        let here = self.reservations.iter().filter(|reservation| reservation.workers.contains(&worker));
        self.in_the_way.extend(here.map(|reservation| reservation.key));
        self.kept.insert(worker);
    }

    /// How many tasks may go into lanes when `placed` of them start at once: backlogs could last into a reservation.
    pub(super) fn backlog_budget(&self, placed: u64, budget: u64) -> u64 {
        if self.reservations.is_empty() { budget } else { placed }
    }

    pub(super) fn classes(&self) -> Vec<ClassId> {
        self.levels.keys().copied().collect()
    }
}

impl Scheduler {
    /// Notes that what is left of a queue has no room.
    pub(super) fn block(&self, now: Tick, blockers: &mut Blockers, key: QueueKey, rank: Rank) {
        let order = self.policies.order();
        let Some(view) = self.queue_view(now, key) else { return };
        let needed = if self.state.classes.get(key.class).is_gang() { u64::MAX } else { view.waiting };
        match order.pass_rule_of(&view) {
            PassRule::Free => {}
            PassRule::Gap => blockers.add(rank, key, needed, PassRule::Gap),
            PassRule::Strict => blockers.add(rank, key, u64::MAX, PassRule::Strict),
            PassRule::Shadow if blockers.reservations.len() < order.reservations() => {
                self.reserve(now, blockers, key, rank);
            }
            PassRule::Shadow => {}
        }
    }

    /// The best queue of `class` for which a place on the worker is held.
    pub(super) fn holder(
        &self,
        now: Tick,
        blockers: &mut Blockers,
        class: ClassId,
        worker: WorkerId,
    ) -> Option<(Rank, QueueKey, PassRule)> {
        let least = blockers.levels.get(&class)?.first()?.most;
        let position = self.hold_position(now, blockers, class, least, worker)?;
        let levels = blockers.levels.get(&class)?;
        let level = levels.get(levels.partition_point(|level| level.most <= position))?;
        Some((level.rank, level.key, level.rule))
    }

    /// Workers that hold a place for a queue; nothing where it is not blocked.
    pub(super) fn holders(&self, now: Tick, blockers: &mut Blockers, key: QueueKey) -> Option<BTreeSet<WorkerId>> {
        if let Some(reservation) = blockers.reservations.iter().find(|reservation| reservation.key == key) {
            return Some(reservation.workers.clone());
        }
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

    /// Whether one more task of the queue `own` may be placed on a worker whose free state is `pools`, past all that are
    /// blocked.
    pub(super) fn may_pass(
        &self,
        now: Tick,
        blockers: &mut Blockers,
        rank: Rank,
        own: QueueKey,
        worker: WorkerId,
        pools: &Pools,
    ) -> bool {
        for high in blockers.classes() {
            let holder = self.holder(now, blockers, high, worker).filter(|(better, ..)| *better < rank);
            let Some((_, key, rule)) = holder else { continue };
            if rule == PassRule::Strict || self.gap(high, own.class, worker, pools) == 0 {
                blockers.in_the_way.insert(key);
                blockers.refused.insert((own, worker));
                blockers.kept.insert(worker);
                return false;
            }
        }
        if blockers.is_reserved(worker, rank) && !self.keeps_reservations(now, blockers, own, worker, pools) {
            blockers.reservation_refuses(worker);
            blockers.refused.insert((own, worker));
            return false;
        }
        true
    }

    /// Whether a place on the worker is held for a better queue, so that a gang of the queue `own` cannot have it.
    pub(super) fn is_held(
        &self,
        now: Tick,
        blockers: &mut Blockers,
        rank: Rank,
        own: QueueKey,
        worker: WorkerId,
    ) -> bool {
        for high in blockers.classes() {
            if let Some((_, key, _)) = self.holder(now, blockers, high, worker).filter(|(better, ..)| *better < rank) {
                blockers.in_the_way.insert(key);
                blockers.kept.insert(worker);
                return true;
            }
        }
        if blockers.is_reserved(worker, rank) && !self.gang_keeps_reservations(now, blockers, own, worker) {
            blockers.reservation_refuses(worker);
            return true;
        }
        false
    }
}

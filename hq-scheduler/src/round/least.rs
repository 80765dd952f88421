//! Workers that are to be used well or not at all: they get tasks only if afterwards enough of their cpus are in use.

use std::{cell::RefCell, collections::BTreeSet};

use hq_core::{GrantId, ResourceName, Tick, WorkerId};

use super::{
    blocked::{Asker, Blockers},
    fill::{Placed, Way, choose_using, place, take},
    looks::Looks,
    ranks::Walk,
    slots::{LANES_MAX, Slot},
};
use crate::{
    Scheduler,
    pool::Pools,
    state::{QueueKey, Worker},
    utilization::{cpus_of, least_use},
};

impl Scheduler {
    /// Fills workers of whose cpus too little is in use, where what waits is enough for that: levels from the best down,
    /// until it is. Such workers come after all others; the rest of what they have is for the next pass.
    pub(super) fn fill_unused(
        &mut self,
        now: Tick,
        workers: &BTreeSet<WorkerId>,
        fresh: bool,
        blockers: &mut Blockers,
    ) {
        let due = |worker: &&WorkerId| {
            let known = self.state.workers.get(worker);
            known.is_some_and(|known| known.gang.is_none() && known.is_underused())
                && (fresh || workers.contains(worker))
        };
        let due: Vec<WorkerId> = self.mind.choosy.iter().filter(due).copied().collect();
        for worker in due {
            // What cannot bring it to enough use must not keep others from that.
            let plan = self.plan_unused(now, worker, blockers, false);
            let plan = plan.or_else(|| self.plan_unused(now, worker, blockers, true));
            let Some(plan) = plan.or_else(|| self.plan_alone(now, worker, blockers)) else { continue };
            blockers.gives.forget();
            for (key, placed) in plan {
                let slot = |(turn, placed): (usize, Placed)| Slot {
                    worker,
                    variant: placed.variant,
                    allocation: placed.allocation,
                    turn,
                };
                let slots: Vec<Slot> = placed.into_iter().enumerate().map(slot).collect();
                let n = slots.len() as u64;
                self.open_lanes(now, key, slots, n);
            }
            self.mind.dirty_workers.insert(worker);
        }
    }

    /// What to start on a worker, by queue; nothing where that is not enough. If `able`, only of classes that could ever be.
    fn plan_unused(
        &self,
        now: Tick,
        worker: WorkerId,
        blockers: &mut Blockers,
        able: bool,
    ) -> Option<Vec<(QueueKey, Vec<Placed>)>> {
        let known = self.state.workers.get(&worker)?;
        let least = known.least_cpus();
        let mut pools = known.pools.clone();
        let mut plan: Vec<(QueueKey, Vec<Placed>)> = Vec::new();
        let mut most = LANES_MAX.saturating_sub(known.grants.len()) as u64;
        let mut over: BTreeSet<QueueKey> = BTreeSet::new();
        let mut walk = Walk::default();
        let mut looks = Looks::for_level();
        let mut seen = 0;
        while let Some((rank, mut keys)) = walk.level(&self.mind.ranks) {
            keys.retain(|key| !able || self.could_give(now, &blockers.gives, worker, key.class));
            // Queues that would not wait any more stand in nobody's way.
            let others = RefCell::new(blockers.without(&over));
            let waiting: Vec<u64> =
                keys.iter().map(|key| self.state.ready.get(key).map_or(0, |set| set.len())).collect();
            let lots = self.lots(&keys, &waiting, !others.borrow().reservations.is_empty(), |_| true);
            let mut left = lots.budgets.clone();
            let ways = self.ways_of_level(now, &lots.keys, known, &pools);
            let may = |i: usize, pools: &Pools| {
                let asker = Asker { now, rank, queue: lots.keys[i], worker };
                self.may_pass(asker, &mut others.borrow_mut(), pools)
            };
            let missing = least.saturating_sub(pools.uses_cpus().parts());
            let counts = choose_using(&pools, &ways, &left, most, missing, &mut looks, &may);
            self.note_looks(looks.used() - std::mem::replace(&mut seen, looks.used()));
            let mut by_lot: Vec<Vec<Placed>> = lots.keys.iter().map(|_| vec![]).collect();
            for placed in place(&mut pools, &ways, &counts, &mut left, most, &may) {
                most -= 1;
                by_lot[placed.class].push(placed);
            }
            blockers.note_met(others.into_inner());
            let by_queue = lots.hand_out(by_lot, &waiting);
            let used_up =
                keys.iter().zip(&waiting).zip(&by_queue).filter(|((_, n), placed)| placed.len() as u64 == **n);
            over.extend(used_up.map(|((key, _), _)| *key));
            plan.extend(keys.into_iter().zip(by_queue).filter(|(_, placed)| !placed.is_empty()));
            if pools.uses_cpus().parts() >= least {
                return Some(plan);
            }
        }
        None
    }

    /// The first task that is enough alone: what goes first but is not enough must not keep it from a worker that is idle.
    fn plan_alone(&self, now: Tick, worker: WorkerId, blockers: &mut Blockers) -> Option<Vec<(QueueKey, Vec<Placed>)>> {
        let known = self.state.workers.get(&worker).filter(|known| known.grants.len() < LANES_MAX)?;
        let missing = known.least_cpus().saturating_sub(known.pools.uses_cpus().parts());
        let mut walk = Walk::default();
        while let Some((rank, keys)) = walk.level(&self.mind.ranks) {
            let ways = self.ways_of_level(now, &keys, known, &known.pools);
            let enough = |way: &&Way<'_>| cpus_of(&known.pools, way.request).parts() >= missing;
            for way in ways.iter().filter(enough) {
                let key = keys[way.class];
                let Some(placed) = take(&mut known.pools.clone(), way) else { continue };
                let asker = Asker { now, rank: self.rank_to_others(key, rank), queue: key, worker };
                if self.may_pass(asker, blockers, &known.pools) {
                    return Some(vec![(key, vec![placed])]);
                }
            }
        }
        None
    }

    pub(super) fn ways_of_level(&self, now: Tick, keys: &[QueueKey], known: &Worker, pools: &Pools) -> Vec<Way<'_>> {
        let able: Vec<usize> = (0..keys.len())
            .filter(|i| {
                let class = self.state.classes.get(keys[*i].class);
                !class.is_gang() && known.config.runs(&class.kind)
            })
            .collect();
        self.ways(now, keys, &able, known.deadline(), pools)
    }

    /// Whether enough of a worker's cpus are in use if this lane goes on and those that have no task do not.
    pub(super) fn uses_enough_with(&self, worker: &Worker, grant: GrantId) -> bool {
        if worker.config.min_utilization == 0 {
            return true;
        }
        let lanes = worker.grants.iter().filter_map(|id| Some((id, self.state.grants.get(id)?)));
        let used = lanes
            .filter(|(id, lane)| **id == grant || !lane.tasks.is_empty())
            .flat_map(|(_, lane)| &lane.allocation.0)
            .filter(|granted| granted.resource.as_str() == ResourceName::CPUS)
            .fold(0u64, |sum, granted| sum.saturating_add(granted.amount.parts()));
        used >= worker.least_cpus()
    }
}

impl Worker {
    /// How much of its cpus has to be in use, in parts.
    pub(super) fn least_cpus(&self) -> u64 {
        least_use(&self.pools, self.config.min_utilization).parts()
    }

    /// Whether it gets tasks one by one.
    pub(super) fn takes_tasks(&self) -> bool {
        self.gang.is_none() && !self.is_underused()
    }

    /// Whether it gets tasks only if these bring its cpus to enough use.
    pub(super) fn is_underused(&self) -> bool {
        self.config.min_utilization > 0 && self.pools.uses_cpus().parts() < self.least_cpus()
    }
}

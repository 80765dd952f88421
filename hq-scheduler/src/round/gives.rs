//! Whether a worker that is to be used well or not at all could ever give the place that is held on it.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc, sync::Arc};

use hq_core::{ClassId, Request, ResourceName, Tick, WorkerId};

use super::{
    fill::{choose_using, place},
    looks::Looks,
    ranks::Walk,
    slots::LANES_MAX,
};
use crate::{
    Scheduler,
    pool::Pools,
    rooms::MakeId,
    state::{QueueKey, Worker},
    utilization::cpus_of,
};

/// What is known of this in a pass, by make and class, until something is placed. Copies share it. Workers of one make that live
/// for different times count as alike: the first one asked about speaks for all.
#[derive(Clone, Debug, Default)]
pub(super) struct Gives(Rc<RefCell<BTreeMap<(MakeId, ClassId), bool>>>);

impl Gives {
    /// Other tasks wait now.
    pub(super) fn forget(&self) {
        self.0.borrow_mut().clear();
    }
}

impl Scheduler {
    /// Where tasks have left a queue, those that are left may be too few to bring a worker to enough use: it may be held for
    /// nothing.
    pub(super) fn release_unfilled(&mut self) {
        if self.mind.choosy.is_empty() || self.mind.held.is_empty() {
            return;
        }
        let waiting = |key: &QueueKey| self.state.ready.get(key).map_or(0, |set| set.len());
        if self.mind.moved.iter().all(|key| waiting(key) >= LANES_MAX as u64) {
            return;
        }
        let is_held = |worker: &WorkerId| {
            let known = self.state.workers.get(worker);
            known.is_some_and(|known| known.gang.is_none())
                && self.mind.held.iter().any(|(key, held)| self.holds(*key, held, *worker))
        };
        self.mind.dirty_workers.extend(self.mind.choosy.iter().copied().filter(is_held).collect::<Vec<WorkerId>>());
    }

    /// Whether a worker could run a task of the class some time: in use enough without it, or, from when it is idle, by what waits of
    /// the class with others beside it.
    pub(super) fn could_give(&self, now: Tick, gives: &Gives, worker: WorkerId, class: ClassId) -> bool {
        let Some(known) = self.state.workers.get(&worker) else { return false };
        let choosy = known.config.min_utilization > 0;
        let Some(make) = self.mind.makes.of(worker).filter(|_| choosy) else { return true };
        if !known.is_underused() && self.fits_above(known, class) {
            return true;
        }
        if let Some(gives) = gives.0.borrow().get(&(make, class)) {
            return *gives;
        }
        let could = self.could_fill(now, known, class);
        gives.0.borrow_mut().insert((make, class), could);
        could
    }

    /// Whether a task of the class can have room while enough of the worker is in use without it.
    fn fits_above(&self, known: &Worker, class: ClassId) -> bool {
        let above = known.pools.total(ResourceName::CPUS).parts().saturating_sub(known.least_cpus());
        let fits =
            |request: &Arc<Request>| known.pools.could_ever(request) && cpus_of(&known.pools, request).parts() <= above;
        self.state.classes.get(class).requests.iter().any(fits)
    }

    /// As many of the best queue of the class as fit, and where that is all of them, what else waits beside them. Those that are left
    /// would let nothing pass.
    fn could_fill(&self, now: Tick, known: &Worker, class: ClassId) -> bool {
        let Some((best, own)) = self.mind.ranks.first_of_best(class) else { return false };
        let mut pools = Pools::new(&known.config.resources);
        let mut most = LANES_MAX as u64;
        let (placed, left) = self.fill_idle(now, known, &[own], &mut pools, most);
        most -= placed;
        let mut walk = Walk::default();
        while placed > 0 && pools.uses_cpus().parts() < known.least_cpus() {
            let Some((rank, mut keys)) = walk.level(&self.mind.ranks).filter(|_| left == 0) else { return false };
            keys.retain(|key| *key != own && rank >= best);
            most -= self.fill_idle(now, known, &keys, &mut pools, most).0;
        }
        placed > 0
    }

    /// Takes what a plan would start of a level on a worker of which so much is free. Says how many tasks, and how many are left.
    fn fill_idle(&self, now: Tick, known: &Worker, keys: &[QueueKey], pools: &mut Pools, most: u64) -> (u64, u64) {
        let waiting = |key: &QueueKey| self.state.ready.get(key).map_or(0, |set| set.len());
        let mut left: Vec<u64> = keys.iter().map(waiting).collect();
        let ways = self.ways_of_level(now, keys, known, pools);
        let missing = known.least_cpus().saturating_sub(pools.uses_cpus().parts());
        let mut looks = Looks::for_level();
        let counts = choose_using(pools, &ways, &left, most, missing, &mut looks, &|_, _| true);
        self.note_looks(looks.used());
        let placed = place(pools, &ways, &counts, &mut left, most, &|_, _| true).len() as u64;
        (placed, left.into_iter().fold(0, u64::saturating_add))
    }
}

use std::{cell::Cell, fmt};

use hq_core::{Allocation, Amount, GrantId, WorkerId};

use crate::{
    policy::{Fragmentation, Typical},
    pool::Pools,
};

/// Smaller is better; equal keys: lower worker id, then earlier variant.
pub type PlacementKey = (i64, i64);

/// Ranks the places where a task of a class could start.
///
/// The key must be a function of the [`SlotView`]: the core keeps it while nothing changes on the worker, and asks again after
/// each start there. Keys decide who is preferred and nothing else: a place that does not fit is never offered, and none is
/// given away twice.
pub trait Placement: fmt::Debug + Send {
    /// The name it is chosen by.
    fn name(&self) -> &str;

    /// The key of a place.
    fn key(&self, slot: &SlotView<'_>) -> PlacementKey;

    /// Whether workers are filled one after the other, in order of their ids, each with the most valuable combination of
    /// the classes of a level; keys are not asked for then. Else classes are placed one after the other, the most valuable
    /// first, each task where its key is best.
    fn fills_workers(&self) -> bool {
        false
    }
}

/// What a placement sees of a possible place: a worker and a variant that fits there now.
#[derive(Clone, Copy, Debug)]
pub struct SlotView<'a> {
    /// The worker.
    pub worker: WorkerId,
    /// What it has free.
    pub free: &'a Pools,
    /// Lanes that are open there.
    pub lanes: usize,
    /// The newest lane that was ever opened there, or gang that it was part of; later ones are larger.
    pub last_lane: Option<GrantId>,
    /// The variant.
    pub variant: u8,
    /// What the task would get.
    pub allocation: &'a Allocation,
    /// Value of the variant, in parts of the cluster; for comparison within one class.
    pub value: u64,
    /// What most tasks ask for.
    pub typical: &'a Typical,
    /// Of what is free, once somebody asked.
    pub(crate) fragmentation: &'a Cell<Option<Fragmentation>>,
}

impl SlotView<'_> {
    /// How much of a resource is free there.
    pub fn free_of(&self, resource: &str) -> Amount {
        self.free.free(resource)
    }

    /// What would be free there with the task. It is made anew each time.
    pub fn after(&self) -> Pools {
        let mut pools = self.free.clone();
        // It always fits: the allocation was made from these pools.
        pools.take(self.allocation);
        pools
    }

    /// By how much the place would make more of the scarce resources useless to the [typical](Self::typical) classes, and how
    /// much of all that is there would be idle then; both by worth, in parts of the cluster.
    pub fn fragmentation(&self) -> (i64, i64) {
        let before = self.fragmentation.get().unwrap_or_else(|| self.typical.fragmentation(self.free).0);
        self.fragmentation.set(Some(before));
        let (after, idle) = self.typical.fragmentation(&self.after());
        (after.more_than(before), idle)
    }
}

use std::fmt;

use hq_core::{Amount, WorkerId};

use crate::pool::Pools;

/// What a placement sees of a possible place: a worker and a variant that fits there now.
#[derive(Clone, Copy, Debug)]
pub struct SlotView<'a> {
    /// The worker.
    pub worker: WorkerId,
    /// What it has free.
    pub free: &'a Pools,
    /// Lanes that are open there.
    pub lanes: usize,
    /// The variant.
    pub variant: u8,
    /// Value of the variant, in parts of the cluster; for comparison within one class.
    pub value: u64,
}

impl SlotView<'_> {
    /// How much of a resource is free there.
    pub fn free_of(&self, resource: &str) -> Amount {
        self.free.free(resource)
    }
}

/// Smaller is better; equal keys: lower worker id, then earlier variant.
pub type PlacementKey = (i64, i64);

/// Ranks the places where a task of a class could start.
///
/// It must be deterministic; the core asks again after each start, since the free state has changed.
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

/// Fills a worker before the next: the one of lowest id that has room, there the most valuable variant.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pack;

impl Placement for Pack {
    fn name(&self) -> &'static str {
        "pack"
    }

    fn key(&self, slot: &SlotView<'_>) -> PlacementKey {
        (-i64::try_from(slot.value).unwrap_or(i64::MAX), i64::from(slot.worker.0))
    }

    fn fills_workers(&self) -> bool {
        true
    }
}

/// The worker with the fewest open lanes.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeastLoaded;

impl Placement for LeastLoaded {
    fn name(&self) -> &'static str {
        "least-loaded"
    }

    fn key(&self, slot: &SlotView<'_>) -> PlacementKey {
        (slot.lanes as i64, 0)
    }
}

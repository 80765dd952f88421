use super::{Placement, PlacementKey, SlotView};

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

use super::{Placement, PlacementKey, SlotView};

/// The worker of lowest id on which it fits, there the earliest variant.
#[derive(Clone, Copy, Debug, Default)]
pub struct FirstFit;

impl Placement for FirstFit {
    fn name(&self) -> &'static str {
        "first-fit"
    }

    fn key(&self, slot: &SlotView<'_>) -> PlacementKey {
        (i64::from(slot.worker.0), i64::from(slot.variant))
    }
}

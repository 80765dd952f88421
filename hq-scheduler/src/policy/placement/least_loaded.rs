use hq_core::ResourceName;

use super::{Placement, PlacementKey, SlotView};

/// The worker with the fewest open lanes; among these the one with most free cpus, then with most free memory (`mem`), both
/// in whole units.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeastLoaded;

/// The largest number of whole units that counts: two of them fit one half of a key.
const UNITS_MAX: u64 = (1 << 31) - 1;

impl Placement for LeastLoaded {
    fn name(&self) -> &'static str {
        "least-loaded"
    }

    fn key(&self, slot: &SlotView<'_>) -> PlacementKey {
        let units = |resource| slot.free_of(resource).whole().min(UNITS_MAX);
        let room = units(ResourceName::CPUS) << 31 | units("mem");
        (slot.lanes as i64, -room.cast_signed())
    }
}

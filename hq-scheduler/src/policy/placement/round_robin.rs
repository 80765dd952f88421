use super::{Placement, PlacementKey, SlotView};

/// The worker whose turn it is: the one that got nothing for longest, measured in lanes opened elsewhere since. Whoever never
/// got any goes first.
///
/// The turns are part of the lasting state: they are the same whichever placement decided before.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundRobin;

impl Placement for RoundRobin {
    fn name(&self) -> &'static str {
        "round-robin"
    }

    fn key(&self, slot: &SlotView<'_>) -> PlacementKey {
        slot.last_lane.map_or((-1, 0), |lane| (i64::from(lane.epoch.0), i64::from(lane.n)))
    }
}

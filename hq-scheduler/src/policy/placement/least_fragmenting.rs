use super::{Placement, PlacementKey, SlotView};

/// The place that makes least of the scarce resources useless to the typical classes (see [`Typical`](super::super::Typical));
/// where that is equal, the one that leaves least of them idle, and then least of what these classes do not ask for.
///
/// This is fragmentation gradient descent (Weng et al., USENIX ATC 2023), on all resources instead of GPUs alone. Which of a
/// worker's indices a share is taken from is the core's affair, which takes the smallest that suffices.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeastFragmenting;

impl Placement for LeastFragmenting {
    fn name(&self) -> &'static str {
        "least-fragmenting"
    }

    fn key(&self, slot: &SlotView<'_>) -> PlacementKey {
        slot.fragmentation()
    }
}

//! Orders and placements propose; the core disposes. A policy can be unfair, it cannot over-commit.

mod order;
mod placement;
mod registry;
mod typical;

pub use order::{Fcfs, Order, PassRule, Priority, QueueView, Rank};
pub use placement::{FirstFit, LeastFragmenting, LeastLoaded, Pack, Placement, PlacementKey, RoundRobin, SlotView};
pub(crate) use registry::Policies;
pub(crate) use typical::Fragmentation;
pub use typical::Typical;

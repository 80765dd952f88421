//! Orders and placements propose; the core disposes. A policy can be unfair, it cannot over-commit.

mod backfill;
mod fair_share;
mod fcfs;
mod order;
mod patience;
mod placement;
mod priority;
mod registry;
mod sjf;
mod typical;

pub use backfill::EasyBackfill;
pub use fair_share::FairShare;
pub use fcfs::Fcfs;
pub use order::{Order, PassRule, QueueView, Rank};
pub use patience::Patience;
pub use placement::{FirstFit, LeastFragmenting, LeastLoaded, Pack, Placement, PlacementKey, RoundRobin, SlotView};
pub use priority::Priority;
pub(crate) use registry::Policies;
pub use sjf::Sjf;
pub(crate) use typical::Fragmentation;
pub use typical::Typical;

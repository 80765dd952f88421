//! Orders and placements propose; the core disposes. A policy can be unfair, it cannot over-commit.
//!
//! | order | first comes | what may overtake what has no room |
//! |---|---|---|
//! | [`priority`](Priority) | larger priorities | what fits into gaps |
//! | [`fcfs`](Fcfs) | what came first | nothing |
//! | [`sjf`](Sjf) | the shortest expected run, with ageing | anything, until patience ends |
//! | [`fair-share`](FairShare::USERS), [`fair-share-projects`](FairShare::PROJECTS) | whose user or project has had least | anything, until patience ends |
//! | [`easy-backfill`](EasyBackfill::ARRIVAL) | what came first | what does not delay the first |
//! | [`easy-shortest`](EasyBackfill::SHORTEST), [`easy-smallest`](EasyBackfill::SMALLEST) | the shortest, the smallest area | what does not delay the first |
//! | [`patience`](Patience) | the smallest area, after what has waited six times its run | what does not delay the first two |

mod ageing;
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

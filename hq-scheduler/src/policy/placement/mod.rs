//! Placements: where a task of a class starts. One per file.

mod first_fit;
mod least_fragmenting;
mod least_loaded;
mod pack;
mod round_robin;
mod seam;

pub use first_fit::FirstFit;
pub use least_fragmenting::LeastFragmenting;
pub use least_loaded::LeastLoaded;
pub use pack::Pack;
pub use round_robin::RoundRobin;
pub use seam::{Placement, PlacementKey, SlotView};

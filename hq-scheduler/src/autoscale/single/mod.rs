//! One queue, looked after beside the server machine. The engine's carrier uses it until it carries the other one.

mod allocation;
mod machine;

pub use allocation::{AllocationState, AllocationView};
pub use machine::{Autoscaler, ScaleAction};

//! Random workloads and plan instances: the same numbers from the same generator, on every machine.

mod mix;
mod plan;

pub use mix::{Mix, array};
pub use plan::{PlanClass, PlanInstance};

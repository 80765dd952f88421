//! Random workloads and plan instances: the same numbers from the same generator, on every machine.

mod mix;
mod plan;
mod pods;

pub use mix::{Mix, array};
pub use plan::{PlanClass, PlanInstance};
pub use pods::{gpu_nodes, gpu_pods};

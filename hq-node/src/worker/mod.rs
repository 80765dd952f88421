//! The worker machine: lanes, hold rules, time limits, reports until acknowledged, signs of life.

mod api;
mod machine;

pub use api::{Exit, Lane, StartOrder, StopHow, WorkerInput, WorkerOutput};
pub use machine::WorkerNode;

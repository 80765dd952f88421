//! The worker machine: lanes, hold rules, time limits, reports until acknowledged, signs of life.
//!
//! Of what the server says, whatever names a lane that is not there, a run that does not run or a report that was
//! never sent changes nothing. A task that cannot be run as described ends as failed, with a reason for people.

mod api;
mod backlog;
mod lane;
mod lanes;
mod machine;
mod reconnect;
mod reports;
mod way;

pub use api::{Exit, Lane, StartOrder, StopHow, WorkerInput, WorkerOutput};
pub use machine::WorkerNode;

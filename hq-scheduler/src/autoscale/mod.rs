//! How many machines to ask for: a state machine of its own, fed by [`demand`](crate::Scheduler::demand).
//!
//! [`Autoscaler`] looks after one queue. What it decides leaves as [`ScaleAction`]s; what changes its lasting state is a
//! fact, and is recorded before anything is done about it. Its carrier calls the backend when the intent is safe, and
//! tells what came of it.

mod allocation;
mod machine;

pub use allocation::{AllocationState, AllocationView};
pub use machine::{Autoscaler, ScaleAction};

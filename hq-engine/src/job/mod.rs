//! What an embedder hands over: tasks, alone, in lists with dependencies, or as arrays.

mod error;
mod hand_over;
mod parts;
mod task;
mod whole;

pub use error::JobError;
pub use task::{Body, Program, Task};
pub use whole::Job;

pub(crate) use parts::{Handed, Plan};

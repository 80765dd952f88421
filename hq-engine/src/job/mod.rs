//! What an embedder hands over: tasks, alone, in lists with dependencies, or as arrays.

mod error;
mod hand_over;
mod job;
mod parts;
mod task;

pub use error::JobError;
pub use job::Job;
pub use task::{Body, Program, Task};

pub(crate) use parts::{Handed, Plan};

//! The seam between a worker and the work: one [`TaskRunner`] per kind of body.

mod asynchronous;
mod context;
mod done;
mod function;
mod running;
mod task_runner;
mod threads;

pub use asynchronous::AsyncRunner;
pub use context::TaskContext;
pub use done::{Done, EndSink};
pub use function::FnRunner;
pub(crate) use running::Running;
pub use task_runner::{Runners, TaskRunner};
pub use threads::ClosureThreads;

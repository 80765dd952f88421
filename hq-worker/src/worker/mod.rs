//! The loop that carries a worker.

mod clock;
mod driver;
mod ends;
mod options;
mod writer;

pub use driver::run_worker;
pub use options::{WorkerHandle, WorkerOptions};

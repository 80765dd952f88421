use std::{fmt, sync::Arc};

use hq_backend::AllocationRequest;
use hq_core::BatchJob;

/// A way to start one worker on this machine.
pub trait Spawn: fmt::Debug + Send + Sync {
    /// Starts one worker and returns at once.
    ///
    /// # Errors
    /// Why no worker has started.
    fn spawn(&self, worker: WorkerStart) -> Result<Box<dyn WorkerStop>, SpawnError>;
}

/// The worker to be started.
#[derive(Clone, Debug)]
pub struct WorkerStart {
    /// What was asked for.
    pub request: Arc<AllocationRequest>,
    /// The allocation it belongs to; the worker says so when it [arrives](hq_core::WorkerConfig::allocation).
    pub allocation: BatchJob,
    /// Which worker of the allocation it is, from 0.
    pub number: u32,
}

/// A worker that was started. Dropped, the worker goes on.
pub trait WorkerStop: Send {
    /// Whether it has ended, and what went wrong then, if something did.
    fn ended(&mut self) -> Option<Option<String>>;

    /// Ends it; does not wait for it. One that has ended is no error.
    fn stop(&mut self);
}

/// A worker could not be started.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct SpawnError {
    /// Why, in one line.
    pub message: String,
    /// Whether it may work later.
    pub is_temporary: bool,
}

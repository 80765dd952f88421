use std::{sync::Arc, time::Duration};

use hq_backend::{AllocatorBackend, Word};
use hq_core::QueueSpec;

use crate::{LocalWorker, StartError};

/// How an engine asks an allocator for machines.
///
/// It asks for as many workers as would get a task that waits now, and ends what it has asked for when the engine ends.
#[derive(Clone, Debug)]
pub struct AllocationQueue {
    pub(crate) backend: Arc<dyn AllocatorBackend>,
    worker: LocalWorker,
    backlog: u32,
    workers_per_allocation: u32,
    max_workers: Option<u32>,
    time_limit: Option<Duration>,
    pub(crate) command: Vec<Word>,
}

impl AllocationQueue {
    /// Asks `backend` for workers like this one, one per allocation, one allocation waiting at a time.
    pub fn new(backend: impl AllocatorBackend + 'static, worker: LocalWorker) -> Self {
        Self {
            backend: Arc::new(backend),
            worker,
            backlog: 1,
            workers_per_allocation: 1,
            max_workers: None,
            time_limit: None,
            command: vec![],
        }
    }

    /// So many allocations may wait at the backend at a time; at least 1.
    #[must_use]
    pub fn backlog(mut self, backlog: u32) -> Self {
        self.backlog = backlog.max(1);
        self
    }

    /// An allocation has up to so many workers; at least 1.
    #[must_use]
    pub fn workers_per_allocation(mut self, workers: u32) -> Self {
        self.workers_per_allocation = workers.max(1);
        self
    }

    /// Never more workers than that at a time, those that wait included.
    #[must_use]
    pub const fn max_workers(mut self, max: u32) -> Self {
        self.max_workers = Some(max);
        self
    }

    /// Life of an allocation.
    #[must_use]
    pub const fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// The program and arguments that start one worker, for allocators that start processes. Such workers run
    /// programs only; without a command they are expected to be workers of this process.
    #[must_use]
    pub fn command(mut self, command: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.command = command.into_iter().map(Word::from).collect();
        self
    }

    /// The queue's form in the journal; workers of this process run these `kinds`.
    ///
    /// # Errors
    /// Where the worker's resources cannot be read.
    pub(crate) fn spec(&self, kinds: Vec<String>) -> Result<QueueSpec, StartError> {
        let mut worker = self.worker.config()?;
        worker.kinds = if self.command.is_empty() { kinds } else { vec![] };
        worker.time_limit = worker.time_limit.or(self.time_limit.map(Into::into));
        // They are told from others by that, and differ from life to life of the engine.
        worker.pid = 0;
        Ok(QueueSpec {
            backend: self.backend.name().to_owned(),
            backlog: self.backlog,
            workers_per_allocation: self.workers_per_allocation.min(self.backend.capability().workers_max),
            max_workers: self.max_workers,
            time_limit: self.time_limit.map(Into::into),
            worker: Some(Arc::new(worker)),
            ..QueueSpec::default()
        })
    }
}

//! A Slurm of a test, and requests to it.

use std::{path::Path, sync::Arc};

use async_trait::async_trait;
use hq_backend::{Allocation, AllocationRequest, BatchRequest, JobName};
use hq_backend_slurm::SlurmBackend;
use hq_conformance::{
    backend::BackendFixture,
    commands::{FakeSlurm, Faulty},
};
use hq_core::Span;

/// Commands that can be made to fail, on a Slurm in memory.
pub(crate) type Commands = Arc<Faulty<FakeSlurm>>;

/// A Slurm in memory, and a directory for its files.
pub(crate) struct Cluster {
    /// The backend.
    pub(crate) backend: SlurmBackend<Commands>,
    /// Its commands.
    pub(crate) commands: Commands,
    /// The cluster behind them.
    pub(crate) slurm: FakeSlurm,
    /// Directories of allocations.
    pub(crate) dir: tempfile::TempDir,
}

impl Cluster {
    /// An idle one.
    pub(crate) fn new() -> Self {
        let slurm = FakeSlurm::new();
        let commands = Arc::new(Faulty::new(slurm.clone()));
        let backend = SlurmBackend::with_runner(Arc::clone(&commands));
        Self { backend, commands, slurm, dir: tempfile::tempdir().expect("a directory") }
    }
}

#[async_trait]
impl BackendFixture for Cluster {
    type Backend = SlurmBackend<Commands>;

    fn backend(&self) -> &Self::Backend {
        &self.backend
    }

    fn request(&self, key: &str) -> AllocationRequest {
        request(self.dir.path(), key)
    }

    fn restarted(&self) -> Option<Self::Backend> {
        Some(SlurmBackend::with_runner(Arc::clone(&self.commands)))
    }

    async fn pass_time_limit(&mut self, allocation: &Allocation) -> bool {
        self.slurm.change(&allocation.id.0, |job| job.state = "TIMEOUT".to_owned());
        true
    }
}

/// A request whose files lie below `dir`.
pub(crate) fn request(dir: &Path, key: &str) -> AllocationRequest {
    AllocationRequest {
        key: key.to_owned(),
        workers: 1,
        time_limit: Some(Span::secs(3600)),
        command: ["sleep", "1000"].map(Into::into).to_vec(),
        worker: None,
        batch: Some(BatchRequest::new(dir.join(key), JobName::new("hq-1-1").expect("a name"))),
    }
}

use std::fmt::Display;

use async_trait::async_trait;
use tokio::time::Instant;

use crate::{
    Allocation, AllocationId, AllocationRequest, AllocationStatus, AllocatorBackend, BackendError, Capability,
};

/// Logs each call with its outcome and how long it took: what went well as `debug`, what did not as `info`.
///
/// Commands and environments are not logged.
#[derive(Debug)]
pub struct Trace<B> {
    inner: B,
}

impl<B: AllocatorBackend> Trace<B> {
    /// Calls go to `inner`.
    pub const fn new(inner: B) -> Self {
        Self { inner }
    }

    fn log<T>(&self, what: &str, of: &dyn Display, since: Instant, result: &Result<T, BackendError>) {
        let (backend, ms) = (self.name(), since.elapsed().as_millis());
        match result {
            Ok(_) => tracing::debug!(backend, ms, "{what} {of}"),
            Err(error) => tracing::info!(backend, ms, kind = %error.kind, "{what} {of}: {}", error.message),
        }
    }
}

#[async_trait]
impl<B: AllocatorBackend> AllocatorBackend for Trace<B> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn capability(&self) -> Capability {
        self.inner.capability()
    }

    async fn submit(&self, request: &AllocationRequest) -> Result<AllocationId, BackendError> {
        let since = Instant::now();
        let result = self.inner.submit(request).await;
        self.log("submit", &request.key, since, &result);
        result
    }

    async fn status(&self, allocations: &[Allocation]) -> Vec<Result<AllocationStatus, BackendError>> {
        let since = Instant::now();
        let results = self.inner.status(allocations).await;
        for (allocation, result) in allocations.iter().zip(&results) {
            self.log("status", &allocation.id, since, result);
        }
        results
    }

    async fn cancel(&self, allocation: &Allocation) -> Result<(), BackendError> {
        let since = Instant::now();
        let result = self.inner.cancel(allocation).await;
        self.log("cancel", &allocation.id, since, &result);
        result
    }

    async fn find(&self, request: &AllocationRequest) -> Result<Option<AllocationId>, BackendError> {
        let since = Instant::now();
        let result = self.inner.find(request).await;
        self.log("find", &request.key, since, &result);
        result
    }

    async fn validate(&self, request: &AllocationRequest) -> Result<Option<String>, BackendError> {
        let since = Instant::now();
        let result = self.inner.validate(request).await;
        self.log("validate", &request.key, since, &result);
        result
    }
}

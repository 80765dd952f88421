use std::{collections::VecDeque, time::Duration};

use async_trait::async_trait;
use tokio::{
    sync::Mutex,
    time::{Instant, sleep_until},
};

use crate::{
    Allocation, AllocationId, AllocationRequest, AllocationStatus, AllocatorBackend, BackendError, Capability,
};

/// Lets only so many submits through in any period; others wait for their turn, in order.
///
/// Cancels and questions pass at once: they make a cluster emptier, or tell when.
#[derive(Debug)]
pub struct RateLimit<B> {
    inner: B,
    calls: usize,
    period: Duration,
    /// When the latest submits passed.
    passed: Mutex<VecDeque<Instant>>,
}

impl<B> RateLimit<B> {
    /// At most `calls` submits, at least 1, in any `period` go to `inner`.
    pub fn new(inner: B, calls: usize, period: Duration) -> Self {
        Self { inner, calls: calls.max(1), period, passed: Mutex::default() }
    }

    /// # Cancel safety
    /// Cancel safe: who stops waiting has used nothing.
    async fn pass(&self) {
        // Held over the wait: the lock is fair, and so those who wait pass in order.
        let mut passed = self.passed.lock().await;
        if passed.len() >= self.calls
            && let Some(oldest) = passed.front()
        {
            sleep_until(*oldest + self.period).await;
            passed.pop_front();
        }
        passed.push_back(Instant::now());
    }
}

#[async_trait]
impl<B: AllocatorBackend> AllocatorBackend for RateLimit<B> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn capability(&self) -> Capability {
        self.inner.capability()
    }

    async fn submit(&self, request: &AllocationRequest) -> Result<AllocationId, BackendError> {
        self.pass().await;
        self.inner.submit(request).await
    }

    async fn status(&self, allocations: &[Allocation]) -> Vec<Result<AllocationStatus, BackendError>> {
        self.inner.status(allocations).await
    }

    async fn cancel(&self, allocation: &Allocation) -> Result<(), BackendError> {
        self.inner.cancel(allocation).await
    }

    async fn find(&self, request: &AllocationRequest) -> Result<Option<AllocationId>, BackendError> {
        self.inner.find(request).await
    }

    async fn validate(&self, request: &AllocationRequest) -> Result<Option<String>, BackendError> {
        self.inner.validate(request).await
    }
}

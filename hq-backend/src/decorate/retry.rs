use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use async_trait::async_trait;

use crate::{
    Allocation, AllocationId, AllocationRequest, AllocationStatus, AllocatorBackend, BackendError, Capability,
};

/// How often and how long after each other a call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Calls at most, the first one included; at least 1.
    pub attempts: u32,
    /// The pause after the first one; doubled after each further one.
    pub first: Duration,
    /// The longest pause.
    pub longest: Duration,
    /// Pauses are shortened by up to a half at random, so that many callers do not come at the same time: by the
    /// numbers that follow from this one.
    pub seed: u64,
}

impl RetryPolicy {
    /// The pause after `failures` failed calls, the `n`th pause of this policy.
    pub fn pause(&self, failures: u32, n: u64) -> Duration {
        let factor = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        let whole = self.first.saturating_mul(factor).min(self.longest);
        let micros = u64::try_from(whole.as_micros()).unwrap_or(u64::MAX);
        Duration::from_micros(micros - scramble(self.seed.wrapping_add(n)) % (micros / 2 + 1))
    }
}

/// Makes calls again that failed and may succeed later.
///
/// A submit that may have been done all the same is never made again: it is looked for, and the error is handed on if
/// it is not found. Questions about the status are not repeated, since they are asked all the time.
#[derive(Debug)]
pub struct Retry<B> {
    inner: B,
    policy: RetryPolicy,
    pauses: AtomicU64,
}

impl<B> Retry<B> {
    /// Calls go to `inner`.
    pub const fn new(inner: B, policy: RetryPolicy) -> Self {
        Self { inner, policy, pauses: AtomicU64::new(0) }
    }

    async fn repeat<T, F>(&self, call: impl Fn() -> F) -> Result<T, BackendError>
    where
        F: Future<Output = Result<T, BackendError>>,
    {
        let mut failures = 0;
        loop {
            match call().await {
                Err(error) if error.is_temporary() && !error.is_in_doubt && failures + 1 < self.policy.attempts => {
                    failures += 1;
                    let n = self.pauses.fetch_add(1, Ordering::Relaxed);
                    let pause = self.policy.pause(failures, n);
                    tracing::debug!("{error}; again in {pause:?}");
                    tokio::time::sleep(pause).await;
                }
                result => return result,
            }
        }
    }
}

#[async_trait]
impl<B: AllocatorBackend> AllocatorBackend for Retry<B> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn capability(&self) -> Capability {
        self.inner.capability()
    }

    async fn submit(&self, request: &AllocationRequest) -> Result<AllocationId, BackendError> {
        match self.repeat(|| self.inner.submit(request)).await {
            Err(error) if error.is_in_doubt && self.capability().find => match self.find(request).await {
                Ok(Some(id)) => Ok(id),
                _ => Err(error),
            },
            result => result,
        }
    }

    async fn status(&self, allocations: &[Allocation]) -> Vec<Result<AllocationStatus, BackendError>> {
        self.inner.status(allocations).await
    }

    async fn cancel(&self, allocation: &Allocation) -> Result<(), BackendError> {
        self.repeat(|| self.inner.cancel(allocation)).await
    }

    async fn find(&self, request: &AllocationRequest) -> Result<Option<AllocationId>, BackendError> {
        self.repeat(|| self.inner.find(request)).await
    }

    async fn validate(&self, request: &AllocationRequest) -> Result<Option<String>, BackendError> {
        self.repeat(|| self.inner.validate(request)).await
    }
}

/// A number that looks like any other (the finaliser of splitmix64).
const fn scramble(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

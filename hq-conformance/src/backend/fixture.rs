use std::time::Duration;

use async_trait::async_trait;
use hq_backend::{Allocation, AllocationRequest, AllocationStatus, AllocatorBackend};

/// A backend under test, and what the suite has to know of its world.
#[async_trait]
pub trait BackendFixture: Send {
    /// The backend.
    type Backend: AllocatorBackend;

    /// The backend; always the same.
    fn backend(&self) -> &Self::Backend;

    /// A request of one worker that the backend takes, with this key; always the same for a key. Its worker lives until
    /// it is cancelled.
    fn request(&self, key: &str) -> AllocationRequest;

    /// Lets what goes on in the backend's world go on for a moment.
    async fn pass(&mut self) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    /// A backend as a new process of the engine would make it, on the same world; none where that cannot be had.
    fn restarted(&self) -> Option<Self::Backend> {
        None
    }

    /// Brings an allocation to its time limit; `false` where that takes too long.
    async fn pass_time_limit(&mut self, allocation: &Allocation) -> bool {
        let _ = allocation;
        false
    }
}

pub(super) async fn submit(fixture: &impl BackendFixture, key: &str) -> Allocation {
    submit_request(fixture, &fixture.request(key)).await
}

pub(super) async fn submit_request(fixture: &impl BackendFixture, request: &AllocationRequest) -> Allocation {
    let key = &request.key;
    let id = fixture.backend().submit(request).await.unwrap_or_else(|e| panic!("submit of `{key}` failed: {e}"));
    Allocation::of(request, id)
}

pub(super) async fn status(fixture: &impl BackendFixture, allocation: &Allocation) -> AllocationStatus {
    let mut all = fixture.backend().status(std::slice::from_ref(allocation)).await;
    assert_eq!(all.len(), 1, "one question, one answer");
    all.remove(0).unwrap_or_else(|e| panic!("status of {} failed: {e}", allocation.id))
}

pub(super) async fn cancel(fixture: &impl BackendFixture, allocation: &Allocation) {
    let done = fixture.backend().cancel(allocation).await;
    done.unwrap_or_else(|e| panic!("cancel of {} failed: {e}", allocation.id));
}

pub(super) async fn end(fixture: &mut impl BackendFixture, allocations: &[Allocation]) {
    for allocation in allocations {
        cancel(fixture, allocation).await;
    }
    for allocation in allocations {
        wait_for_end(fixture, allocation).await;
    }
}

pub(super) async fn wait_for_end(fixture: &mut impl BackendFixture, allocation: &Allocation) -> AllocationStatus {
    for _ in 0..1000 {
        let status = status(fixture, allocation).await;
        if status.is_ended() {
            return status;
        }
        fixture.pass().await;
    }
    panic!("allocation {} does not end", allocation.id);
}

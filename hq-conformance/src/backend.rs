//! What any [`AllocatorBackend`] has to keep.

use std::time::Duration;

use async_trait::async_trait;
use hq_backend::{AllocationId, AllocationRequest, AllocationStatus, AllocatorBackend, BackendErrorKind};

/// A backend under test, and what the suite has to know of its world.
#[async_trait]
pub trait BackendFixture: Send {
    /// The backend.
    type Backend: AllocatorBackend;

    /// The backend; always the same.
    fn backend(&self) -> &Self::Backend;

    /// A request of one worker that the backend takes, with this key. Its worker lives until it is cancelled.
    fn request(&self, key: &str) -> AllocationRequest;

    /// Lets what goes on in the backend's world go on for a moment.
    async fn pass(&mut self) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Runs every case.
///
/// # Panics
/// Where the backend does not keep a promise; the message says which.
pub async fn test_all(fixture: &mut impl BackendFixture) {
    an_allocation_lives_until_it_is_cancelled(fixture).await;
    ids_differ(fixture).await;
    status_keeps_the_order(fixture).await;
    what_is_not_known_has_ended(fixture).await;
    it_can_be_found_by_its_key(fixture).await;
    too_many_workers_are_refused(fixture).await;
}

/// Submitted: queued or running. Cancelled, also twice: over, and never back.
///
/// # Panics
/// Where that does not hold.
pub async fn an_allocation_lives_until_it_is_cancelled(fixture: &mut impl BackendFixture) {
    let id = submit(fixture, "life").await;
    for _ in 0..3 {
        assert!(!matches!(status(fixture, &id).await, AllocationStatus::Ended { .. }), "it ended by itself");
        fixture.pass().await;
    }
    for turn in 1..=2 {
        fixture.backend().cancel(&id).await.unwrap_or_else(|e| panic!("cancel {turn} failed: {e}"));
        wait_for_end(fixture, &id).await;
    }
}

/// Two allocations have two ids.
///
/// # Panics
/// Where they do not.
pub async fn ids_differ(fixture: &mut impl BackendFixture) {
    let (a, b) = (submit(fixture, "first").await, submit(fixture, "second").await);
    assert_ne!(a, b, "two allocations share an id");
    end(fixture, &[a, b]).await;
}

/// The answers stand in the order of the questions.
///
/// # Panics
/// Where they do not.
pub async fn status_keeps_the_order(fixture: &mut impl BackendFixture) {
    let (a, b) = (submit(fixture, "ends").await, submit(fixture, "lives").await);
    end(fixture, std::slice::from_ref(&a)).await;
    for (ids, ended) in [([&a, &b], [true, false]), ([&b, &a], [false, true]), ([&a, &a], [true, true])] {
        let ids = ids.map(Clone::clone);
        let seen = fixture.backend().status(&ids).await.expect("status");
        let seen: Vec<bool> = seen.iter().map(|s| matches!(s, AllocationStatus::Ended { .. })).collect();
        assert_eq!(seen, ended, "status of {ids:?}");
    }
    assert_eq!(fixture.backend().status(&[]).await.expect("status of none"), vec![]);
    end(fixture, &[b]).await;
}

/// An id that nobody gave: its status is an end, and to cancel it is no error.
///
/// # Panics
/// Where that does not hold.
pub async fn what_is_not_known_has_ended(fixture: &mut impl BackendFixture) {
    let id = AllocationId("99999999".to_owned());
    assert!(matches!(status(fixture, &id).await, AllocationStatus::Ended { .. }), "an unknown id is not over");
    fixture.backend().cancel(&id).await.expect("cancel of an unknown id");
}

/// By its key and by no other.
///
/// # Panics
/// Where that does not hold.
pub async fn it_can_be_found_by_its_key(fixture: &mut impl BackendFixture) {
    let id = submit(fixture, "sought-1").await;
    assert_eq!(fixture.backend().find("sought-1").await.expect("find"), Some(id.clone()));
    assert_eq!(fixture.backend().find("sought-").await.expect("find"), None, "a part of a key is not a key");
    end(fixture, &[id]).await;
}

/// Beyond the capability: refused as such.
///
/// # Panics
/// Where it is not.
pub async fn too_many_workers_are_refused(fixture: &mut impl BackendFixture) {
    let most = fixture.backend().capability().workers_max;
    for workers in [0, most.saturating_add(1)] {
        let request = AllocationRequest { workers, ..fixture.request("many") };
        if workers == most {
            continue;
        }
        let error = fixture.backend().submit(&request).await.expect_err("it was taken");
        assert_eq!((error.kind, error.is_temporary()), (BackendErrorKind::Unsupported, false), "{workers} workers");
    }
}

async fn submit(fixture: &impl BackendFixture, key: &str) -> AllocationId {
    fixture.backend().submit(&fixture.request(key)).await.unwrap_or_else(|e| panic!("submit of `{key}` failed: {e}"))
}

async fn status(fixture: &impl BackendFixture, id: &AllocationId) -> AllocationStatus {
    let mut all = fixture.backend().status(std::slice::from_ref(id)).await.expect("status");
    assert_eq!(all.len(), 1, "one question, one answer");
    all.remove(0)
}

async fn end(fixture: &mut impl BackendFixture, ids: &[AllocationId]) {
    for id in ids {
        fixture.backend().cancel(id).await.expect("cancel");
        wait_for_end(fixture, id).await;
    }
}

async fn wait_for_end(fixture: &mut impl BackendFixture, id: &AllocationId) {
    for _ in 0..1000 {
        if matches!(status(fixture, id).await, AllocationStatus::Ended { .. }) {
            return;
        }
        fixture.pass().await;
    }
    panic!("allocation {id} does not end after a cancel");
}

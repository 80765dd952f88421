use hq_backend::{
    Allocation, AllocationId, AllocationRequest, AllocationStatus, AllocatorBackend as _, BackendErrorKind, EndCause,
};
use hq_core::Span;

use super::fixture::{BackendFixture, cancel, end, status, submit, submit_request, wait_for_end};

/// Submitted: queued or running. Cancelled, also twice: over, and never back.
///
/// # Panics
/// Where that does not hold.
pub async fn an_allocation_lives_until_it_is_cancelled(fixture: &mut impl BackendFixture) {
    let allocation = submit(fixture, "life").await;
    for _ in 0..3 {
        assert!(!status(fixture, &allocation).await.is_ended(), "it ended by itself");
        fixture.pass().await;
    }
    for _ in 1..=2 {
        cancel(fixture, &allocation).await;
        wait_for_end(fixture, &allocation).await;
    }
}

/// An id that nobody gave: its status is an end, and to cancel it is no error.
///
/// # Panics
/// Where that does not hold.
pub async fn what_is_not_known_has_ended(fixture: &mut impl BackendFixture) {
    let allocation = Allocation { id: AllocationId("99999999".to_owned()), key: "unknown".to_owned(), directory: None };
    let found = status(fixture, &allocation).await;
    assert!(matches!(&found, AllocationStatus::Ended(end) if end.cause == EndCause::Unknown), "{found:?}");
    cancel(fixture, &allocation).await;
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
        assert!(!error.is_in_doubt, "a refusal of our own is not in doubt");
    }
}

/// What was refused is not there.
///
/// # Panics
/// Where it is.
pub async fn a_refusal_leaves_nothing(fixture: &mut impl BackendFixture) {
    let request = AllocationRequest { workers: 0, ..fixture.request("refused") };
    fixture.backend().submit(&request).await.expect_err("no worker at all");
    assert_eq!(fixture.backend().find(&request).await.expect("find"), None);
    // And the same request can be made again.
    let allocation = submit(fixture, "refused").await;
    end(fixture, &[allocation]).await;
}

/// Asked whether it would take a request, the backend says yes, and nothing is there.
///
/// # Panics
/// Where that does not hold.
pub async fn validation_leaves_nothing(fixture: &mut impl BackendFixture) {
    let request = fixture.request("validated");
    fixture.backend().validate(&request).await.expect("a good request");
    assert_eq!(fixture.backend().find(&request).await.expect("find"), None, "nothing was submitted");
    let allocation = submit(fixture, "validated").await;
    end(fixture, &[allocation]).await;
}

/// At its time limit it ends, and that is no failure. `false` where the fixture cannot show it.
///
/// # Panics
/// Where that does not hold.
pub async fn a_time_limit_ends_it(fixture: &mut impl BackendFixture) -> bool {
    let request = AllocationRequest { time_limit: Some(Span::secs(60)), ..fixture.request("limited") };
    let allocation = submit_request(fixture, &request).await;
    for _ in 0..1000 {
        if matches!(status(fixture, &allocation).await, AllocationStatus::Running { .. }) {
            break;
        }
        fixture.pass().await;
    }
    if !fixture.pass_time_limit(&allocation).await {
        end(fixture, &[allocation]).await;
        return false;
    }
    let AllocationStatus::Ended(end) = wait_for_end(fixture, &allocation).await else { unreachable!("it has ended") };
    assert_eq!(end.cause, EndCause::TimeLimit, "{end:?}");
    true
}

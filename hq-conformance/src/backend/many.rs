use std::collections::BTreeSet;

use hq_backend::{Allocation, AllocationRequest, AllocatorBackend as _};

use super::fixture::{BackendFixture, end, status, submit, submit_request};

/// Two allocations have two ids.
///
/// # Panics
/// Where they do not.
pub async fn ids_differ(fixture: &mut impl BackendFixture) {
    let (a, b) = (submit(fixture, "first").await, submit(fixture, "second").await);
    assert_ne!(a.id, b.id, "two allocations share an id");
    end(fixture, &[a, b]).await;
}

/// The answers stand in the order of the questions.
///
/// # Panics
/// Where they do not.
pub async fn status_keeps_the_order(fixture: &mut impl BackendFixture) {
    let (a, b) = (submit(fixture, "ends").await, submit(fixture, "lives").await);
    end(fixture, std::slice::from_ref(&a)).await;
    for (asked, ended) in [([&a, &b], [true, false]), ([&b, &a], [false, true]), ([&a, &a], [true, true])] {
        let seen = fixture.backend().status(&asked.map(Clone::clone)).await;
        let seen: Vec<bool> = seen.into_iter().map(|answer| answer.expect("status").is_ended()).collect();
        assert_eq!(seen, ended, "status of {asked:?}");
    }
    assert!(fixture.backend().status(&[]).await.is_empty(), "no question, no answer");
    end(fixture, &[b]).await;
}

/// Several calls at once do what they do one by one.
///
/// # Panics
/// Where they do not.
pub async fn calls_run_at_the_same_time(fixture: &mut impl BackendFixture) {
    let requests = ["at-once-1", "at-once-2", "at-once-3", "at-once-4"].map(|key| fixture.request(key));
    let backend = fixture.backend();
    let [a, b, c, d] = &requests;
    let (a, b, c, d) = tokio::join!(backend.submit(a), backend.submit(b), backend.submit(c), backend.submit(d));
    let ids = [a, b, c, d].map(|id| id.expect("submit"));
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 4, "{ids:?}");
    let all: Vec<_> = requests.iter().zip(ids).map(|(request, id)| Allocation::of(request, id)).collect();
    let (found, seen) = tokio::join!(backend.find(&requests[1]), backend.status(&all));
    assert_eq!(found.expect("find").as_ref(), Some(&all[1].id));
    assert!(seen.into_iter().all(|answer| !answer.expect("status").is_ended()), "all of them live");
    end(fixture, &all).await;
}

/// More than one worker: one allocation, with one id.
///
/// # Panics
/// Where it does not live until it is cancelled.
pub async fn several_workers_are_one_allocation(fixture: &mut impl BackendFixture) {
    let request = AllocationRequest { workers: 2, ..fixture.request("two") };
    let allocation = submit_request(fixture, &request).await;
    assert!(!status(fixture, &allocation).await.is_ended(), "it ended by itself");
    end(fixture, &[allocation]).await;
}

use hq_backend::AllocatorBackend as _;

use super::fixture::{BackendFixture, end, status, submit};

/// By its key and by no other.
///
/// # Panics
/// Where that does not hold.
pub async fn it_can_be_found_by_its_key(fixture: &mut impl BackendFixture) {
    let allocation = submit(fixture, "sought-1").await;
    let (exact, part) = (fixture.request("sought-1"), fixture.request("sought-"));
    assert_eq!(fixture.backend().find(&exact).await.expect("find").as_ref(), Some(&allocation.id));
    assert_eq!(fixture.backend().find(&part).await.expect("find"), None, "a part of a key is not a key");
    end(fixture, &[allocation]).await;
}

/// Another process of the engine finds it, follows it and ends it. Where the first one died before it wrote the id
/// down, too.
///
/// # Panics
/// Where that does not hold.
pub async fn it_is_found_after_a_restart(fixture: &mut impl BackendFixture) {
    for (key, forgets) in [("kept", false), ("forgotten", true)] {
        let allocation = submit(fixture, key).await;
        if let Some(directory) = allocation.directory.as_ref().filter(|_| forgets) {
            // Nothing else is written after the manager has answered.
            let _ = std::fs::remove_file(directory.join("jobid"));
        }
        let restarted = fixture.restarted().expect("a second process");
        let found = restarted.find(&fixture.request(key)).await.expect("find");
        assert_eq!(found.as_ref(), Some(&allocation.id), "{key}");
        assert!(!status(fixture, &allocation).await.is_ended(), "it lives");
        let seen = restarted.status(std::slice::from_ref(&allocation)).await.remove(0).expect("status");
        assert!(!seen.is_ended(), "it lives for the other, too");
        restarted.cancel(&allocation).await.expect("cancel");
        end(fixture, &[allocation]).await;
    }
}

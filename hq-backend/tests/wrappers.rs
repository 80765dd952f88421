//! Wrappers of any backend: pauses, turns, and what is never repeated.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use hq_backend::{
    Allocation, AllocationId, AllocationRequest, AllocationStatus, AllocatorBackend, BackendError, BackendErrorKind,
    Capability, RateLimit, Retry, RetryPolicy, Trace,
};
use proptest::prelude::*;
use tokio::time::Instant;

/// What goes wrong, if anything does, and whether it may have been done all the same.
type Fault = Option<(BackendErrorKind, bool)>;

/// Answers as told, and remembers when it was asked for what.
#[derive(Debug, Default)]
struct Scripted {
    answers: Mutex<VecDeque<Fault>>,
    calls: Mutex<Vec<(&'static str, Instant)>>,
    finds: bool,
}

impl Scripted {
    fn answer(&self, call: &'static str) -> Result<AllocationId, BackendError> {
        self.calls.lock().unwrap().push((call, Instant::now()));
        match self.answers.lock().unwrap().pop_front().flatten() {
            None => Ok(AllocationId("1".to_owned())),
            Some((kind, in_doubt)) => {
                let error = BackendError::new(kind, "scripted", call, "no");
                Err(if in_doubt { error.in_doubt() } else { error })
            }
        }
    }

    fn calls(&self) -> Vec<&'static str> {
        self.calls.lock().unwrap().iter().map(|(call, _)| *call).collect()
    }
}

#[async_trait]
impl AllocatorBackend for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn capability(&self) -> Capability {
        Capability { workers_max: 1, time_limit: false, find: self.finds, validate: true, batch: false }
    }

    async fn submit(&self, _: &AllocationRequest) -> Result<AllocationId, BackendError> {
        self.answer("submit")
    }

    async fn status(&self, _: &[Allocation]) -> Vec<Result<AllocationStatus, BackendError>> {
        vec![self.answer("status").map(|_| AllocationStatus::Running { started: None })]
    }

    async fn cancel(&self, _: &Allocation) -> Result<(), BackendError> {
        self.answer("cancel").map(drop)
    }

    async fn find(&self, _: &AllocationRequest) -> Result<Option<AllocationId>, BackendError> {
        self.answer("find").map(Some)
    }

    async fn validate(&self, _: &AllocationRequest) -> Result<Option<String>, BackendError> {
        self.answer("validate").map(|_| None)
    }
}

const POLICY: RetryPolicy =
    RetryPolicy { attempts: 4, first: Duration::from_secs(2), longest: Duration::from_secs(5), seed: 1 };

fn request() -> AllocationRequest {
    let key = "k".to_owned();
    AllocationRequest { key, workers: 1, time_limit: None, command: vec![], worker: None, batch: None }
}

fn allocation() -> Allocation {
    Allocation { id: AllocationId("1".to_owned()), key: "k".to_owned(), directory: None }
}

#[tokio::test(start_paused = true)]
async fn calls_are_repeated_as_their_errors_say() {
    use BackendErrorKind::{Limited, Missing, Rejected, Unavailable};
    // What each call answers, what was called, and whether it went well in the end.
    let away = Some((Unavailable, false));
    let cases: [(bool, &[Fault], &[&str], bool); 8] = [
        (false, &[], &["submit"], true),
        (false, &[away, Some((Limited, false))], &["submit", "submit", "submit"], true),
        (false, &[away; 9], &["submit"; 4], false),
        (false, &[Some((Rejected, false))], &["submit"], false),
        (false, &[Some((Missing, false))], &["submit"], false),
        (false, &[Some((Unavailable, true))], &["submit"], false),
        (true, &[Some((Unavailable, true)), away], &["submit", "find", "find"], true),
        (true, &[away, Some((Unavailable, true)), Some((Rejected, false))], &["submit", "submit", "find"], false),
    ];
    for (finds, answers, calls, is_good) in cases {
        let inner =
            Arc::new(Scripted { answers: Mutex::new(answers.iter().copied().collect()), finds, ..Scripted::default() });
        let backend = Trace::new(Retry::new(Arc::clone(&inner), POLICY));
        assert_eq!((backend.submit(&request()).await.is_ok(), inner.calls()), (is_good, calls.to_vec()), "{answers:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn questions_and_cancels() {
    let inner = Arc::new(Scripted::default());
    let backend = Retry::new(Arc::clone(&inner), POLICY);
    let away = Some((BackendErrorKind::Unavailable, false));
    inner.answers.lock().unwrap().extend([away, None, away, None, away]);
    backend.cancel(&allocation()).await.unwrap();
    backend.validate(&request()).await.unwrap();
    // The status is asked for all the time anyhow.
    assert!(backend.status(&[allocation()]).await.remove(0).is_err());
    assert_eq!(inner.calls(), ["cancel", "cancel", "validate", "validate", "status"]);
}

#[tokio::test(start_paused = true)]
async fn submits_wait_for_their_turn_and_cancels_do_not() {
    let inner = Arc::new(Scripted::default());
    let backend = Arc::new(RateLimit::new(Arc::clone(&inner), 3, Duration::from_secs(60)));
    let start = Instant::now();
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let backend = Arc::clone(&backend);
            tokio::spawn(async move { backend.submit(&request()).await })
        })
        .collect();
    tokio::task::yield_now().await;
    backend.cancel(&allocation()).await.unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO, "a cancel does not wait");
    for call in calls {
        call.await.unwrap().unwrap();
    }
    let seen: Vec<u64> = inner
        .calls
        .lock()
        .unwrap()
        .iter()
        .filter(|(call, _)| *call == "submit")
        .map(|(_, at)| (*at - start).as_secs())
        .collect();
    assert_eq!(seen, [0, 0, 0, 60, 60, 60, 120, 120]);
}

proptest! {
    /// Pauses double up to the longest, less at most a half, and are the same for the same seed.
    #[test]
    fn pauses_are_bounded(failures in 1..100_u32, n in any::<u64>(), seed in any::<u64>(), first in 1..10_000_u64, longest in 1..100_000_u64) {
        let policy = RetryPolicy { attempts: 9, first: Duration::from_millis(first), longest: Duration::from_millis(longest), seed };
        let whole = Duration::from_millis(first.saturating_mul(1 << (failures - 1).min(31)).min(longest));
        let pause = policy.pause(failures, n);
        prop_assert!(pause <= whole && pause * 2 >= whole, "{pause:?} of {whole:?}");
        prop_assert_eq!(pause, policy.pause(failures, n));
    }
}

//! Commands that go wrong: (a) to (c), (e) to (g) and (j) to (l) of the faults, and what is run at all.

use std::{sync::Arc, time::Duration};

use hq_backend::{
    Allocation, AllocationStatus, AllocatorBackend, BackendErrorKind, EndCause, Retry, RetryPolicy, trial,
};
use hq_backend_pbs::PbsBackend;
use hq_conformance::commands::{Fault, answer};

use crate::cluster::{Cluster, request};

const POLICY: RetryPolicy =
    RetryPolicy { attempts: 4, first: Duration::from_secs(1), longest: Duration::from_secs(10), seed: 7 };

async fn submit(cluster: &Cluster, key: &str) -> Allocation {
    let request = request(cluster.dir.path(), key);
    let id = cluster.backend.submit(&request).await.expect("submit");
    Allocation::of(&request, id)
}

async fn status(cluster: &Cluster, of: &Allocation) -> Result<AllocationStatus, BackendErrorKind> {
    cluster.backend.status(std::slice::from_ref(of)).await.remove(0).map_err(|e| e.kind)
}

/// How it ended, if it has.
async fn end(cluster: &Cluster, of: &Allocation) -> Option<EndCause> {
    match status(cluster, of).await {
        Ok(AllocationStatus::Ended(end)) => Some(end.cause),
        _ => None,
    }
}

fn count(cluster: &Cluster, start: &str) -> usize {
    cluster.commands.log().iter().filter(|line| line.starts_with(start)).count()
}

#[tokio::test(start_paused = true)]
async fn a_submit_that_hangs_after_it_was_done_is_found_and_never_made_twice() {
    let cluster = Cluster::new();
    let backend = Retry::new(PbsBackend::with_runner(Arc::clone(&cluster.commands)), POLICY);
    cluster.commands.fail("qsub", 1, Fault::HangAfter);
    let id = backend.submit(&request(cluster.dir.path(), "a")).await.expect("found");
    assert_eq!((&*id.0, count(&cluster, "qsub")), ("1.pbs1", 1));
}

#[tokio::test(start_paused = true)]
async fn b_a_limit_is_tried_again_later() {
    let cluster = Cluster::new();
    let backend = Retry::new(PbsBackend::with_runner(Arc::clone(&cluster.commands)), POLICY);
    cluster.commands.fail("qsub", 3, Fault::Answer(answer(1, "", "qsub: Maximum number of jobs already in queue\n")));
    backend.submit(&request(cluster.dir.path(), "b")).await.expect("the fourth time");
    assert_eq!(count(&cluster, "qsub"), 4);
}

#[tokio::test]
async fn e_and_g_a_server_that_hangs_or_says_nothing_ends_nothing() {
    let cluster = Cluster::new();
    let all = [submit(&cluster, "e1").await, submit(&cluster, "e2").await];
    let refused = answer(255, "{}\n", "Connection refused\nqstat: cannot connect to server pbs1 (errno=15010)\n");
    for (fault, expected) in [
        (Fault::Hang, BackendErrorKind::Unavailable),
        (Fault::Answer(refused), BackendErrorKind::Unavailable),
        (Fault::Missing, BackendErrorKind::Missing),
        (Fault::Answer(answer(1, "", "no\n")), BackendErrorKind::Rejected),
    ] {
        let before = count(&cluster, "qstat");
        cluster.commands.fail("qstat", 1, fault);
        let seen = cluster.backend.status(&all).await;
        let kinds: Vec<_> = seen.iter().map(|answer| answer.as_ref().expect_err("a fault").kind).collect();
        assert_eq!((kinds, count(&cluster, "qstat") - before), (vec![expected; 2], 1));
    }
    // First all, then each alone, then each without JSON.
    cluster.commands.fail("qstat", 5, Fault::Answer(answer(0, "", "")));
    let seen = cluster.backend.status(&all).await;
    assert!(
        seen.iter().all(|answer| answer.as_ref().is_err_and(|e| e.kind == BackendErrorKind::Unexpected)),
        "{seen:?}"
    );
    assert!(cluster.backend.status(&all).await.iter().all(Result::is_ok));
}

#[tokio::test]
async fn of_several_ids_only_the_first_is_answered_at_once() {
    let cluster = Cluster::new();
    let mut all = vec![];
    for key in ["1", "2", "3"] {
        all.push(submit(&cluster, key).await);
    }
    cluster.pbs.end("2.pbs1", Some(0), 92);
    cluster.pbs.forget("3.pbs1");
    let causes: Vec<_> = cluster
        .backend
        .status(&all)
        .await
        .into_iter()
        .map(|answer| match answer.expect("status") {
            AllocationStatus::Ended(end) => Some(end.cause),
            _ => None,
        })
        .collect();
    assert_eq!(causes, [None, Some(EndCause::Finished), Some(EndCause::Unknown)]);
    let questions: Vec<String> = cluster.commands.log().into_iter().filter(|line| line.starts_with("qstat")).collect();
    let one = |id| format!("qstat -f {id}.pbs1 -F json -x");
    assert_eq!(questions, ["qstat -f 1.pbs1 -f 2.pbs1 -f 3.pbs1 -F json -x".to_owned(), one(2), one(3)]);
}

#[tokio::test]
async fn j_exit_35_with_half_an_answer() {
    let cluster = Cluster::new();
    let a = submit(&cluster, "j").await;
    cluster.pbs.end("1.pbs1", Some(7), 93);
    let half =
        answer(35, "{\n\t\"Jobs\":\t{\n\t\t\"1.pbs1\":\t{\n\t\t\t\"job_state\":", "qstat: 1.pbs1 Job has finished\n");
    cluster.commands.fail("qstat", 2, Fault::Answer(half.clone()));
    assert_eq!(end(&cluster, &a).await, Some(EndCause::Failed), "the text tells");
    cluster.commands.fail("qstat", 3, Fault::Answer(half));
    assert_eq!(end(&cluster, &a).await, Some(EndCause::Unknown), "nothing tells, and it has ended");
}

#[tokio::test]
async fn k_broken_json() {
    for broken in
        ["{\"Jobs\":{\"1.pbs1\":{\"foo\":005,\"job_state\":\"R\"}}}", "\u{fffd}{{{", "{\"Jobs\":{\"a\":\"\\'\"}}"]
    {
        let cluster = Cluster::new();
        let a = submit(&cluster, "k").await;
        cluster.commands.fail("qstat", 2, Fault::Answer(answer(0, broken, "")));
        assert_eq!(status(&cluster, &a).await, Ok(AllocationStatus::Queued { reason: None }), "{broken}");
        assert_eq!(cluster.commands.log().last().map(String::as_str), Some("qstat -f -x 1.pbs1"));
    }
}

#[tokio::test]
async fn l_a_delete_that_fails_is_told() {
    let cluster = Cluster::new();
    let a = submit(&cluster, "l").await;
    for (code, said, kind) in [
        (159, "qdel: Unauthorized Request 1.pbs1\n", BackendErrorKind::Rejected),
        (162, "Connection refused\nCouldn't connect to cluster: pbs1\n", BackendErrorKind::Unavailable),
    ] {
        cluster.commands.fail("qdel", 1, Fault::Answer(answer(code, "", said)));
        assert_eq!(cluster.backend.cancel(&a).await.expect_err(said).kind, kind);
        assert_eq!(cluster.pbs.alive(), ["1.pbs1"]);
    }
    for (code, said) in
        [(168, "qdel: Request invalid for state of job 1.pbs1\n"), (35, "qdel: Job has finished 1.pbs1\n")]
    {
        cluster.commands.fail("qdel", 1, Fault::Answer(answer(code, "", said)));
        cluster.backend.cancel(&a).await.expect(said);
    }
}

#[tokio::test]
async fn a_trial_is_held_and_deleted() {
    let cluster = Cluster::new();
    trial(&cluster.backend, request(cluster.dir.path(), "t")).await.expect("a trial");
    let script = std::fs::read_to_string(cluster.dir.path().join("t/hq-submit.sh")).expect("a script");
    assert!(script.contains("\n#PBS -h\n"), "{script}");
    assert_eq!(cluster.pbs.alive(), [""; 0]);
    cluster.commands.fail("qsub", 1, Fault::Missing);
    let said = trial(&cluster.backend, request(cluster.dir.path(), "u")).await.expect_err("no qsub").to_string();
    assert!(said.starts_with("Could not submit allocation: qsub start failed"), "{said}");
}

#[tokio::test]
async fn the_commands_and_where_they_run() {
    let cluster = Cluster::new();
    let a = submit(&cluster, "x").await;
    status(&cluster, &a).await.expect("status");
    cluster.backend.cancel(&a).await.expect("cancel");
    let dir = cluster.dir.path().join("x");
    let script = format!("qsub {}", dir.join("hq-submit.sh").display());
    assert_eq!(cluster.commands.log(), [&*script, "qstat -f 1.pbs1 -F json -x", "qdel 1.pbs1"]);
    let lines = cluster.commands.lines();
    assert!(lines.iter().all(|line| line.dir.as_deref() == Some(&*dir)), "{lines:?}");
    assert!(lines[0].env.is_empty(), "a job inherits the environment: {:?}", lines[0]);
}

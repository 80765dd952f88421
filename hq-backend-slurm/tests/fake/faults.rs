//! Commands that go wrong: (a) to (i) and (l) of the faults, jobs that are somebody else's, and what is run at all.

use std::{sync::Arc, time::Duration};

use crate::cluster::{Cluster, request};
use hq_backend::{
    Allocation, AllocationStatus, AllocatorBackend, BackendErrorKind, EndCause, ExtraArg, Retry, RetryPolicy, Trace,
    TrialError, trial,
};
use hq_backend_slurm::SlurmBackend;
use hq_conformance::commands::{Fault, answer};

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

fn count(cluster: &Cluster, start: &str) -> usize {
    cluster.commands.log().iter().filter(|line| line.starts_with(start)).count()
}

#[tokio::test]
async fn a_submit_that_hangs_after_it_was_done_is_found() {
    let cluster = Cluster::new();
    let request = request(cluster.dir.path(), "a");
    cluster.commands.fail("sbatch", 1, Fault::HangAfter);
    let error = cluster.backend.submit(&request).await.expect_err("it hung");
    assert_eq!((error.kind, error.is_in_doubt), (BackendErrorKind::Unavailable, true));
    assert_eq!(cluster.backend.find(&request).await.expect("find").map(|id| id.0).as_deref(), Some("1"));
}

#[tokio::test(start_paused = true)]
async fn a_submit_in_doubt_is_never_made_twice() {
    let cluster = Cluster::new();
    let backend = Trace::new(Retry::new(SlurmBackend::with_runner(Arc::clone(&cluster.commands)), POLICY));
    cluster.commands.fail("sbatch", 1, Fault::HangAfter);
    let id = backend.submit(&request(cluster.dir.path(), "a")).await.expect("found");
    assert_eq!((&*id.0, count(&cluster, "sbatch")), ("1", 1));
    // One that hangs and has done nothing is not found, and not made again either: it might still be under way.
    cluster.commands.fail("sbatch", 1, Fault::Hang);
    let error = backend.submit(&request(cluster.dir.path(), "b")).await.expect_err("in doubt");
    assert_eq!((error.is_in_doubt, count(&cluster, "sbatch"), cluster.slurm.alive().len()), (true, 2, 1));
}

#[tokio::test(start_paused = true)]
async fn b_a_limit_is_tried_again_later_and_not_for_ever() {
    let cluster = Cluster::new();
    let backend = Retry::new(SlurmBackend::with_runner(Arc::clone(&cluster.commands)), POLICY);
    let said = "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, \
                user's size and/or time limits)\n";
    cluster.commands.fail("sbatch", 6, Fault::Answer(answer(1, "", said)));
    let request = request(cluster.dir.path(), "b");
    let error = backend.submit(&request).await.expect_err("a limit");
    assert_eq!((error.kind, error.is_in_doubt, count(&cluster, "sbatch")), (BackendErrorKind::Limited, false, 4));
    assert_eq!(backend.submit(&request).await.expect("the third try").0, "1");
    assert_eq!(cluster.slurm.alive(), [1]);
}

#[tokio::test]
async fn c_lines_around_the_id() {
    let cluster = Cluster::new();
    cluster.commands.fail(
        "sbatch",
        1,
        Fault::Garble(|mut output| {
            output.stdout = [b"\xff\xfe Welcome!\n\n".as_slice(), &output.stdout, b"Bye \x1b[0m\n"].concat();
            output
        }),
    );
    assert_eq!(submit(&cluster, "c").await.id.0, "1");
}

#[tokio::test]
async fn d_one_id_that_is_not_known_is_no_matter_for_others() {
    let cluster = Cluster::new();
    let (a, b) = (submit(&cluster, "d1").await, submit(&cluster, "d2").await);
    let said = "slurm_load_jobs error: Invalid job id specified\n";
    cluster.commands.fail("scontrol show job 1", 1, Fault::Answer(answer(1, "", said)));
    let seen = cluster.backend.status(&[a, b]).await;
    let [Ok(AllocationStatus::Ended(end)), Ok(AllocationStatus::Queued { reason: None })] = &seen[..] else {
        panic!("{seen:?}")
    };
    assert_eq!(end.cause, EndCause::Unknown);
}

#[tokio::test]
async fn e_a_controller_that_hangs_is_asked_once() {
    let cluster = Cluster::new();
    let mut all = vec![];
    for key in 0..40 {
        all.push(submit(&cluster, &format!("e{key}")).await);
    }
    cluster.commands.fail("scontrol", u32::MAX, Fault::Hang);
    let seen = cluster.backend.status(&all).await;
    let kinds: Vec<_> = seen.iter().map(|answer| answer.as_ref().expect_err("it hangs").kind).collect();
    assert_eq!(kinds, [BackendErrorKind::Unavailable; 40]);
    assert!(count(&cluster, "scontrol") <= 8, "{} questions", count(&cluster, "scontrol"));
}

#[tokio::test]
async fn f_a_word_that_is_not_known_ends_nothing() {
    let cluster = Cluster::new();
    let a = submit(&cluster, "f").await;
    cluster.slurm.change("1", |job| job.state = "HIBERNATING".to_owned());
    for _ in 0..3 {
        let expected = AllocationStatus::Unclear { state: "HIBERNATING".to_owned() };
        assert_eq!(status(&cluster, &a).await, Ok(expected));
    }
}

#[tokio::test]
async fn g_empty_answers_end_nothing() {
    let cluster = Cluster::new();
    let a = submit(&cluster, "g").await;
    for said in ["", "\n", "No data\n", "\u{fffd}", "JobId=1 JobName=hq-1-1\n"] {
        cluster.commands.fail("scontrol", 1, Fault::Answer(answer(0, said, "")));
        assert_eq!(status(&cluster, &a).await, Err(BackendErrorKind::Unexpected), "{said:?}");
    }
    assert_eq!(status(&cluster, &a).await, Ok(AllocationStatus::Queued { reason: None }));
}

#[tokio::test]
async fn h_without_accounting_it_is_asked_once() {
    let cluster = Cluster::new();
    let a = submit(&cluster, "h").await;
    cluster.slurm.change("1", |job| (job.state, job.is_purged) = ("COMPLETED".to_owned(), true));
    for _ in 0..3 {
        let Ok(AllocationStatus::Ended(end)) = status(&cluster, &a).await else { panic!("it has ended") };
        assert_eq!(end.cause, EndCause::Unknown);
    }
    assert_eq!(count(&cluster, "sacct"), 1);
}

#[tokio::test]
async fn i_accounting_tells_how_a_forgotten_job_ended_and_may_lag() {
    let cluster = Cluster::new();
    cluster.slurm.set_accounting(true);
    let a = submit(&cluster, "i").await;
    for (state, cause, error) in [
        ("COMPLETED", EndCause::Finished, None),
        ("TIMEOUT", EndCause::TimeLimit, None),
        ("CANCELLED by 1000", EndCause::Canceled, Some("CANCELLED by 1000")),
        ("NODE_FAIL", EndCause::Lost, Some("NODE_FAIL")),
        // It lags, or the controller has lost the job: the controller is right.
        ("RUNNING", EndCause::Unknown, Some("Slurm does not know it")),
    ] {
        cluster.slurm.change("1", |job| (job.state, job.is_purged) = (state.to_owned(), true));
        let Ok(AllocationStatus::Ended(end)) = status(&cluster, &a).await else { panic!("it has ended") };
        assert_eq!((end.cause, end.error.as_deref()), (cause, error), "{state}");
    }
}

#[tokio::test(start_paused = true)]
async fn l_a_cancel_that_fails_is_told_and_can_be_made_again() {
    let cluster = Cluster::new();
    let a = submit(&cluster, "l").await;
    let denied = "scancel: error: Kill job error on job id 1: Access/permission denied\n";
    cluster.commands.fail("scancel", 1, Fault::Answer(answer(210, "", denied)));
    let error = cluster.backend.cancel(&a).await.expect_err("denied");
    assert_eq!((error.kind, error.is_in_doubt), (BackendErrorKind::Rejected, false));
    assert_eq!(
        error.to_string(),
        format!("allocator `slurm` could not cancel: scancel ended with 210: {}", denied.trim())
    );
    assert_eq!(cluster.slurm.alive(), [1]);
    let away = "scancel: error: slurm_kill_job2() failed: Unable to contact slurm controller (connect failure)\n";
    cluster.commands.fail("scancel", 2, Fault::Answer(answer(1, "", away)));
    let backend = Retry::new(SlurmBackend::with_runner(Arc::clone(&cluster.commands)), POLICY);
    backend.cancel(&a).await.expect("the third time");
    assert_eq!(cluster.slurm.alive(), [0; 0]);
}

#[tokio::test]
async fn an_id_that_was_given_away_is_left_alone() {
    let cluster = Cluster::new();
    let a = submit(&cluster, "lost").await;
    cluster.slurm.lose("1");
    assert_eq!(cluster.slurm.submit_other(), 1, "the same id");
    let Ok(AllocationStatus::Ended(end)) = status(&cluster, &a).await else { panic!("ours has ended") };
    assert_eq!(end.cause, EndCause::Unknown);
    cluster.backend.cancel(&a).await.expect("nothing of ours");
    assert_eq!(cluster.slurm.alive(), [1], "the other one lives");
    assert_eq!(count(&cluster, "scancel"), 0);
}

#[tokio::test]
async fn a_cancel_does_not_depend_on_the_look_before_it() {
    for fault in [Fault::Hang, Fault::Missing, Fault::Answer(answer(1, "", "no")), Fault::Answer(answer(0, "", ""))] {
        let cluster = Cluster::new();
        let a = submit(&cluster, "l").await;
        cluster.commands.fail("scontrol", 1, fault);
        cluster.backend.cancel(&a).await.expect("cancel");
        assert_eq!(cluster.slurm.alive(), [0; 0]);
    }
}

#[tokio::test]
async fn a_refused_submission_can_be_mended_in_the_same_directory() {
    let cluster = Cluster::new();
    let mut request = request(cluster.dir.path(), "again");
    let batch = request.batch.as_mut().expect("batch");
    batch.args = vec![ExtraArg::new("--partition=nope").expect("an argument")];
    let error = cluster.backend.validate(&request).await.expect_err("no such partition");
    assert_eq!(error.kind, BackendErrorKind::Rejected);
    let error = cluster.backend.submit(&request).await.expect_err("no such partition");
    assert_eq!((error.kind, error.is_in_doubt), (BackendErrorKind::Rejected, false));
    request.batch.as_mut().expect("batch").args.clear();
    assert_eq!(cluster.backend.submit(&request).await.expect("mended").0, "1");
}

#[tokio::test]
async fn what_a_trial_says_when_it_fails() {
    let cluster = Cluster::new();
    let failure = async |fault| {
        cluster.commands.fail("sbatch", 1, fault);
        let request = request(cluster.dir.path(), "trial");
        trial(&cluster.backend, request).await.expect_err("a fault").to_string()
    };
    let said = failure(Fault::Answer(answer(1, "out\n", "FOOBAR\n"))).await;
    assert_eq!(said, "Could not submit allocation: sbatch execution failed\nExit code: 1\nStderr: FOOBAR\nStdout: out");
    let said = failure(Fault::Missing).await;
    assert!(said.starts_with("Could not submit allocation: sbatch start failed"), "{said}");
    cluster.commands.fail("scancel", 1, Fault::Answer(answer(1, "", "no\n")));
    let said = trial(&cluster.backend, request(cluster.dir.path(), "trial")).await.expect_err("no cancel").to_string();
    assert!(said.starts_with("Could not cancel allocation 1: scancel execution failed"), "{said}");
    let done = trial(&cluster.backend, request(cluster.dir.path(), "trial-2")).await.expect("a trial");
    assert_eq!((&*done.0, cluster.slurm.alive()), ("2", vec![1]));
}

#[tokio::test]
async fn a_trial_in_doubt_leaves_nothing_behind() {
    let cluster = Cluster::new();
    cluster.commands.fail("sbatch", 1, Fault::HangAfter);
    let error = trial(&cluster.backend, request(cluster.dir.path(), "a")).await.expect_err("it hung");
    assert!(matches!(error, TrialError::Submit(_)), "{error}");
    assert_eq!(cluster.slurm.alive(), [0; 0]);
    cluster.commands.fail("sbatch", 1, Fault::Hang);
    let error = trial(&cluster.backend, request(cluster.dir.path(), "b")).await.expect_err("it hung").to_string();
    assert!(error.ends_with("It may have been taken all the same: look for a job with the key b"), "{error}");
}

#[tokio::test]
async fn the_commands_and_where_they_run() {
    let cluster = Cluster::new();
    let a = submit(&cluster, "x").await;
    status(&cluster, &a).await.expect("status");
    cluster.backend.cancel(&a).await.expect("cancel");
    let dir = cluster.dir.path().join("x");
    let script = format!("sbatch {}", dir.join("hq-submit.sh").display());
    assert_eq!(cluster.commands.log(), [&*script, "scontrol show job 1", "scontrol show job 1", "scancel 1"]);
    let lines = cluster.commands.lines();
    assert!(lines.iter().all(|line| line.dir.as_deref() == Some(&*dir)), "{lines:?}");
    assert!(lines[0].env.is_empty(), "a job inherits the environment: {:?}", lines[0]);
}

#[tokio::test]
async fn a_job_of_a_job_is_not_told_of_the_outer_one() {
    for (set, unset) in [
        (&["SLURM_JOB_ID", "SLURM_NTASKS", "SLURM_CONF", "HOME"][..], &["SLURM_JOB_ID", "SLURM_NTASKS"][..]),
        (&["SLURM_NTASKS", "SLURM_CONF"], &[]),
    ] {
        let cluster = Cluster::new();
        let backend = SlurmBackend::with_runner(Arc::clone(&cluster.commands));
        let backend = backend.without(set.iter().map(|name| (*name).to_owned()));
        backend.submit(&request(cluster.dir.path(), "x")).await.expect("submit");
        backend.validate(&request(cluster.dir.path(), "y")).await.expect("validate");
        for line in cluster.commands.lines() {
            let names: Vec<_> = line.env.iter().filter(|(_, value)| value.is_none()).map(|(name, _)| &**name).collect();
            assert_eq!(names, unset);
        }
    }
}

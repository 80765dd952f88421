use std::{collections::BTreeSet, fs, path::Path};

use hq_backend::{
    AllocationRequest, AllocationStatus, AllocatorBackend as _, BackendErrorKind, BatchRequest, EndCause, ExtraArg,
    ShellLine, Word,
};
use hq_conformance::backend::BackendFixture as _;

use crate::cluster::Cluster;

fn batch(request: &mut AllocationRequest) -> &mut BatchRequest {
    request.batch.as_mut().expect("batch")
}

fn args(request: &mut AllocationRequest, args: &[&str]) {
    batch(request).args = args.iter().map(|arg| ExtraArg::new(*arg).expect("an argument")).collect();
}

fn is_running(status: &AllocationStatus) -> bool {
    matches!(status, AllocationStatus::Running { .. })
}

fn is_queued(status: &AllocationStatus) -> bool {
    matches!(status, AllocationStatus::Queued { .. })
}

fn is_ended_as(cause: EndCause) -> impl Fn(&AllocationStatus) -> bool {
    move |status| matches!(status, AllocationStatus::Ended(end) if end.cause == cause)
}

/// A program in `dir` that writes down where it runs and what it was given, beside itself.
fn worker(dir: &Path) -> Word {
    use std::os::unix::fs::PermissionsExt as _;
    let program = dir.join("worker");
    let text = "#!/bin/sh\n\
        for word in \"$SLURMD_NODENAME\" \"$RUST_LOG\" \"$CUDA_VISIBLE_DEVICES\" \"$@\"; do printf '%s|' \"$word\"; done \
        > \"$0.$SLURMD_NODENAME.$$\"\n";
    fs::write(&program, text).expect("write");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("permissions");
    Word::from(program.to_str().expect("text"))
}

/// What workers of `dir` have written down, in order.
fn seen(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry"));
    let notes = names.filter(|entry| entry.file_name().to_string_lossy().starts_with("worker."));
    let mut seen: Vec<String> = notes.map(|entry| fs::read_to_string(entry.path()).expect("a note")).collect();
    seen.sort();
    seen
}

/// Exactly one worker on each node, whatever stands around its command, and each word as it was.
pub(crate) async fn one_worker_on_each_node(cluster: &mut Cluster) {
    let line = |text: &str| Some(ShellLine::new(text).expect("a line"));
    for (n, with_commands) in [(1_u32, false), (1, true), (2, false), (2, true), (4, true)] {
        for place in ["plain", "it's a \"$HOME\" `dir`; #1"] {
            let key = format!("nodes-{n}-{with_commands}");
            let dir = cluster.dir(&format!("{place}-{key}"));
            let mut request = AllocationRequest { workers: n, ..cluster.request(&format!("{place}-{key}/001")) };
            request.command =
                vec![worker(&dir), Word::quoted("a  b"), "it's".into(), Word::quoted("$HOME\\`"), "*".into()];
            let given = if with_commands {
                let batch = batch(&mut request);
                batch.rust_log = Some("hq=debug,info; false".to_owned());
                batch.start_command = line("test -n \"$SLURMD_NODENAME\"");
                batch.wrap_command = line("nice -n 1");
                batch.stop_command = line("touch \"stopped.$SLURMD_NODENAME\"");
                "hq=debug,info; false"
            } else {
                ""
            };
            let allocation = cluster.submit(&request).await;
            let status = cluster.status(&allocation, AllocationStatus::is_ended).await;
            let output = ["stdout", "stderr"].map(|file| {
                fs::read_to_string(batch(&mut request).directory.join(file)).unwrap_or_else(|e| format!("{file}: {e}"))
            });
            assert!(is_ended_as(EndCause::Finished)(&status), "{place} {key}: {status:?} {output:?}");
            let seen = seen(&dir);
            let nodes: BTreeSet<&str> = seen.iter().filter_map(|note| note.split('|').next()).collect();
            assert_eq!((seen.len(), nodes.len()), (n as usize, n as usize), "{place} {key}: {seen:?}");
            for note in &seen {
                let rest = note.split_once('|').expect("a node").1;
                assert_eq!(rest, format!("{given}||a  b|it's|$HOME\\`|*|"), "{place} {key}");
            }
            if with_commands {
                let stopped =
                    nodes.iter().filter(|node| batch(&mut request).directory.join(format!("stopped.{node}")).exists());
                assert_eq!(stopped.count(), n as usize, "{place} {key}: each worker's stop command ran");
            }
        }
    }
}

/// What is asked for by an argument of the user is given on each node.
pub(crate) async fn gpus_are_given(cluster: &mut Cluster) {
    let dir = cluster.dir("gpus");
    let mut request = AllocationRequest { workers: 2, ..cluster.request("gpus/001") };
    request.command = vec![worker(&dir)];
    args(&mut request, &["--gres=gpu:2", "--comment='two each'"]);
    let allocation = cluster.submit(&request).await;
    cluster.status(&allocation, is_ended_as(EndCause::Finished)).await;
    let notes = seen(&dir);
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes.iter().all(|note| note.ends_with("||0,1|")), "{notes:?}");
}

/// Outputs go where they should, whatever the directory is called.
pub(crate) async fn odd_directories(cluster: &mut Cluster) {
    for name in
        ["a b", "it's", "say \"x\"", "$HOME", "a#b", "a;b", "`x`", "ä ö", "a=b,c:d", "~", "-n", "*", "[a]", "!x"]
    {
        let mut request = cluster.request(&format!("{name}/001"));
        request.command = ["echo", "hello"].map(Into::into).to_vec();
        let allocation = cluster.submit(&request).await;
        cluster.status(&allocation, is_ended_as(EndCause::Finished)).await;
        let directory = &batch(&mut request).directory;
        assert_eq!(fs::read_to_string(directory.join("stdout")).expect(name), "hello\n", "{name}");
        fs::remove_file(directory.join("jobid")).expect("a jobid");
        let found = cluster.backend.find(&request).await.expect("find");
        assert_eq!(found.as_ref(), Some(&allocation.id), "{name}");
    }
    // Names that are reached by a link are the same place.
    let real = cluster.dir("real");
    let link = real.parent().expect("a parent").join("link");
    std::os::unix::fs::symlink(&real, &link).expect("a link");
    let request = cluster.request("link/001");
    let allocation = cluster.submit(&request).await;
    cluster.status(&allocation, is_running).await;
    cluster.cancel(&allocation).await;
}

/// Refused for good, and nothing is there.
pub(crate) async fn a_wrong_partition(cluster: &mut Cluster) {
    let mut request = cluster.request("partition");
    args(&mut request, &["--partition=nope"]);
    let error = cluster.backend.validate(&request).await.expect_err("no such partition");
    assert_eq!(error.kind, BackendErrorKind::Rejected, "{error}");
    let error = cluster.backend.submit(&request).await.expect_err("no such partition");
    assert_eq!((error.kind, error.is_in_doubt), (BackendErrorKind::Rejected, false), "{error}");
    assert!(error.message.contains("nope"), "{error}");
    assert_eq!(cluster.backend.find(&request).await.expect("find"), None);
    let said = cluster.backend.validate(&cluster.request("valid")).await.expect("a good request").expect("a word");
    assert!(said.contains("to start at"), "{said}");
}

/// A job waits for nodes that are drained, and the reason is shown.
pub(crate) async fn a_drained_cluster(cluster: &mut Cluster) {
    cluster.slurm("scontrol", &["update", "nodename=n[1-4]", "state=drain", "reason=maint"]).await;
    let allocation = cluster.submit(&cluster.request("drained")).await;
    let has_reason = |status: &AllocationStatus| matches!(status, AllocationStatus::Queued { reason: Some(reason) } if reason.contains("DRAINED"));
    cluster.status(&allocation, has_reason).await;
    cluster.slurm("scontrol", &["update", "nodename=n[1-4]", "state=resume"]).await;
    cluster.status(&allocation, is_running).await;
    cluster.cancel(&allocation).await;
}

/// One that is queued again has not ended, and keeps its id.
pub(crate) async fn a_requeued_job(cluster: &mut Cluster) {
    let allocation = cluster.submit(&cluster.request("requeue")).await;
    cluster.status(&allocation, is_running).await;
    cluster.slurm("scontrol", &["requeue", &allocation.id.0]).await;
    cluster.status(&allocation, is_queued).await;
    cluster.cancel(&allocation).await;
}

/// An array of the user is one allocation: it runs while a part does, and ends whole.
pub(crate) async fn an_array(cluster: &mut Cluster) {
    let mut request = cluster.request("array");
    args(&mut request, &["--array=0-2%1"]);
    let allocation = cluster.submit(&request).await;
    cluster.status(&allocation, is_running).await;
    cluster.slurm("scancel", &[&format!("{}_0", allocation.id)]).await;
    cluster.status(&allocation, |status| !status.is_ended()).await;
    cluster.cancel(&allocation).await;
    let left = cluster.slurm("squeue", &["-h", "-j", &allocation.id.0]).await;
    assert_eq!(left, "", "all of it has ended");
}

/// Nothing is known while the controller is away; after that all is as it was. What the controller has lost is not
/// mistaken for the job that got its id.
pub(crate) async fn a_controller_that_is_killed(cluster: &mut Cluster) {
    let old = cluster.submit(&cluster.request("old")).await;
    cluster.status(&old, is_running).await;
    cluster.state_is_saved().await;
    // Whether this one is known after the crash is a matter of luck.
    let young = cluster.submit(&cluster.request("young")).await;
    cluster.daemon("kill", "slurmctld");
    let answers = cluster.backend.status(&[old.clone(), young.clone()]).await;
    for answer in answers {
        assert_eq!(answer.expect_err("nobody is there").kind, BackendErrorKind::Unavailable);
    }
    let error = cluster.backend.submit(&cluster.request("away")).await.expect_err("nobody is there");
    assert_eq!(error.kind, BackendErrorKind::Unavailable, "{error}");
    cluster.daemon("start", "slurmctld");
    cluster.status(&old, is_running).await;
    let other = cluster.submit(&cluster.request("other")).await;
    let status = cluster.status(&young, |_| true).await;
    println!(
        "real Slurm: the young job is {status:?} after the crash; its id was {}, the next one is {}",
        young.id, other.id
    );
    cluster.backend.cancel(&young).await.expect("cancel");
    if other.id == young.id {
        assert!(is_ended_as(EndCause::Unknown)(&status), "{status:?}");
    }
    cluster.status(&other, is_running).await;
    cluster.cancel(&other).await;
    cluster.cancel(&old).await;
    cluster.status(&young, AllocationStatus::is_ended).await;
}

/// A node is lost: a job that may be queued again is, another one has failed for good.
pub(crate) async fn a_lost_node(cluster: &mut Cluster) {
    let mut final_one = cluster.request("final");
    args(&mut final_one, &["--no-requeue", "--nodelist=n3"]);
    let mut again = cluster.request("again");
    args(&mut again, &["--requeue", "--nodelist=n4"]);
    let (final_one, again) = (cluster.submit(&final_one).await, cluster.submit(&again).await);
    cluster.status(&final_one, is_running).await;
    cluster.status(&again, is_running).await;
    cluster.daemon("kill", "n3");
    cluster.daemon("kill", "n4");
    let AllocationStatus::Ended(end) = cluster.status(&final_one, AllocationStatus::is_ended).await else {
        unreachable!("it has ended")
    };
    assert_eq!((end.cause, end.may_return), (EndCause::Lost, false), "{end:?}");
    cluster.status(&again, is_queued).await;
    cluster.cancel(&again).await;
    cluster.daemon("start", "n3");
    cluster.daemon("start", "n4");
}

/// A job that the controller has forgotten is looked up in the accounting.
pub(crate) async fn what_the_controller_forgot(cluster: &mut Cluster) {
    let mut good = cluster.request("good");
    good.command = vec!["true".into()];
    let mut bad = cluster.request("bad");
    bad.command = vec!["false".into()];
    let requests = [good, bad, cluster.request("canceled")];
    let mut all = vec![];
    for request in &requests {
        all.push(cluster.submit(request).await);
    }
    cluster.status(&all[2], is_running).await;
    cluster.backend.cancel(&all[2]).await.expect("cancel");
    for allocation in &all {
        cluster.status(allocation, AllocationStatus::is_ended).await;
    }
    // Two seconds after their end they are forgotten, at the next round of once a minute.
    while !cluster.slurm("squeue", &["--noheader", "--states=all"]).await.is_empty() {
        cluster.pass().await;
    }
    for (allocation, cause) in all.iter().zip([EndCause::Finished, EndCause::Failed, EndCause::Canceled]) {
        let status = cluster.status(allocation, is_ended_as(cause)).await;
        let AllocationStatus::Ended(end) = status else { unreachable!("it has ended") };
        assert!(end.started.is_some() && end.ended >= end.started, "{end:?}");
    }
    for (request, allocation) in requests.iter().zip(&all) {
        fs::remove_file(request.batch.as_ref().expect("batch").directory.join("jobid")).expect("a jobid");
        assert_eq!(
            cluster.backend.find(request).await.expect("find").as_ref(),
            Some(&allocation.id),
            "{}",
            request.key
        );
    }
}

//! A server that is killed and restarted with its journal goes on where it was.

use std::fs::{self, OpenOptions};

use hq_tests::{ANSWER, Cluster, Signal, eventually, eventually_within, processes_with};
use serde_json::{Value, json};

const JOURNAL: [&str; 2] = ["--journal", "journal"];

#[test]
fn jobs_go_on_and_ids_continue() {
    let mut cluster = Cluster::start_with(&JOURNAL);
    let uid = cluster.json(&["server", "info"])["server_uid"].clone();
    let mut worker = cluster.worker("w1", "2");
    cluster.finished(cluster.submit(&["true"]));
    let script = "echo $HQ_INSTANCE_ID >> ran-$HQ_TASK_ID; [ -e go ] || [ $HQ_TASK_ID -lt 4 ] || sleep 3600; [ $HQ_TASK_ID != 3 ]";
    let job = cluster.submit(&["--array=1-8", "--name=long", "--env=A=b", "bash", "-c", script]);
    cluster.until(job, "finished", 2);
    cluster.until(job, "failed", 1);
    cluster.until(job, "running", 2);
    let canceled = cluster.submit(&["--array=1-3", "sleep", "1"]);
    cluster.hq(&["job", "cancel", &canceled.to_string(), "--reason", "a reason"]).ok();
    let before = cluster.json(&["job", "info", "2"])[0].clone();

    cluster.server().kill();
    assert_eq!(worker.wait(), 1);
    fs::write(cluster.path("go"), "").unwrap();
    cluster.start_server(&JOURNAL);
    assert_eq!(cluster.json(&["server", "info"])["server_uid"], uid);
    let after = cluster.json(&["job", "info", "2"])[0].clone();
    assert_eq!((&after["submits"], &after["started_at"]), (&before["submits"], &before["started_at"]));
    assert_eq!(after["info"]["name"], "long");
    let stats = &after["info"]["task_stats"];
    assert_eq!((&stats["finished"], &stats["failed"]), (&json!(2), &json!(1)));
    assert_eq!(after["tasks"][2]["error"], "Program terminated with exit code 1.");

    let worker = cluster.worker("w2", "2");
    // Ids of workers leave one out after a restart.
    assert_eq!(cluster.json(&["worker", "list"])[0]["id"], 3);
    let stats = &cluster.finished(job)["info"]["task_stats"];
    assert_eq!((&stats["finished"], &stats["failed"]), (&json!(7), &json!(1)));
    // What had ended was not run again, what ran was, what waited ran once (as a later instance if a worker held it).
    let runs: Vec<_> = (1..=8).map(|task| cluster.read(&format!("ran-{task}"))).collect();
    assert_eq!(runs[..5], ["0\n", "0\n", "0\n", "0\n1\n", "0\n1\n"]);
    assert!(runs[5..].iter().all(|runs| runs == "0\n" || runs == "1\n"), "{runs:?}");
    assert_eq!(cluster.submit(&["true"]), 4);
    drop(worker);
}

#[test]
fn what_was_answered_is_there() {
    let mut cluster = Cluster::start_with(&JOURNAL);
    for n in 1..=20 {
        assert_eq!(cluster.submit(&["--array=1-100", "sleep", "1"]), n);
        if n % 5 == 0 {
            cluster.hq(&["job", "cancel", "last"]).ok();
            cluster.server().kill();
            cluster.start_server(&JOURNAL);
        }
    }
    // Ended jobs may be forgotten by a restart.
    let list = cluster.json(&["job", "list"]);
    let waiting: Vec<_> = list.as_array().unwrap().iter().map(|job| job["id"].as_u64().unwrap()).collect();
    assert_eq!(waiting, (1..=20).filter(|n| n % 5 != 0).collect::<Vec<_>>());
    assert!(list.as_array().unwrap().iter().all(|job| job["task_stats"]["waiting"] == 100));
}

#[test]
fn a_torn_end_costs_nothing_that_was_answered() {
    let mut cluster = Cluster::start_with(&JOURNAL);
    for _ in 0..3 {
        cluster.submit(&["sleep", "1"]);
    }
    cluster.hq(&["server", "stop"]).ok();
    assert_eq!(cluster.server().wait(), 0);
    // Callers cut the last byte of a stopped server's journal.
    let file = OpenOptions::new().write(true).open(cluster.path("journal")).unwrap();
    file.set_len(file.metadata().unwrap().len() - 1).unwrap();
    cluster.start_server(&JOURNAL);
    assert_eq!(cluster.json(&["job", "list"]).as_array().unwrap().len(), 3);
    assert_eq!(cluster.submit(&["true"]), 4);
}

#[test]
fn a_stopped_server_goes_on_too() {
    for signal in [None, Some(Signal::INT), Some(Signal::TERM)] {
        let mut cluster = Cluster::start_with(&JOURNAL);
        let mut worker = cluster.worker("w", "1");
        let job = cluster.submit(&["--array=1-2", "bash", "-c", "[ $HQ_INSTANCE_ID = 1 ] || sleep 3600"]);
        cluster.until(job, "running", 1);
        match signal {
            Some(signal) => cluster.server().signal(signal),
            None => drop(cluster.hq(&["server", "stop"])),
        }
        cluster.server().wait();
        assert_eq!(worker.wait(), 1);
        cluster.start_server(&JOURNAL);
        assert_eq!(cluster.stats(job)["waiting"], 2, "{signal:?}");
        cluster.hq(&["job", "cancel", "all"]).ok();
    }
}

#[test]
fn two_servers_do_not_share_a_journal() {
    let mut cluster = Cluster::start_with(&JOURNAL);
    let output =
        hq_tests::finish(cluster.bare_command().args(["--server-dir", "other", "server", "start"]).args(JOURNAL));
    let text = output.fails(1);
    let pid = cluster.server().pid().to_string();
    assert!(text.contains("journal") && text.contains(&pid), "says who has it: {text}");
    assert!(!cluster.path("other/hq-current").exists());
    cluster.hq(&["submit", "true"]).ok();
}

#[test]
fn crashes_are_counted_across_restarts() {
    let mut cluster = Cluster::start_with(&JOURNAL);
    let job = cluster.submit(&["--crash-limit=2", "bash", "-c", "sleep 0.3; kill -9 $PPID; sleep 3600"]);
    cluster.spawn_worker("w1", &["--cpus=1"]).wait();
    cluster.until_worker(1, "CONNECTION LOST");
    // A loss is written without haste; what is answered is written with all that was before.
    cluster.submit(&["--cpus=100", "true"]);
    cluster.server().kill();
    cluster.start_server(&JOURNAL);
    assert_eq!(cluster.stats(job)["waiting"], 1);
    cluster.spawn_worker("w2", &["--cpus=1"]).wait();
    let info = cluster.finished(job);
    assert!(info["tasks"][0]["error"].as_str().is_some_and(|text| text.contains("lost worker 2 times")), "{info}");
}

#[test]
fn tasks_of_a_killed_servers_workers_die() {
    let mut cluster = Cluster::start();
    let mut worker = cluster.worker("w", "1");
    let mark = cluster.dir().file_name().unwrap().to_str().unwrap().replace("hq-test", "orphan");
    let script = format!("trap '' INT TERM; (exec -a {mark} sleep 86400) & wait; (exec -a {mark} sleep 86400)");
    let job = cluster.submit(&["bash", "-c", &script]);
    cluster.until(job, "running", 1);
    eventually("child", || processes_with(&mark), |pids| pids.len() > 1);
    cluster.server().kill();
    assert_eq!(worker.wait(), 1);
    eventually_within(ANSWER, "all die", || processes_with(&mark), Vec::is_empty);
}

#[test]
fn what_is_no_journal_is_left_alone() {
    let mut cluster = Cluster::new();
    fs::write(cluster.path("notes.txt"), "important\n").unwrap();
    fs::create_dir(cluster.path("dir")).unwrap();
    for path in ["notes.txt", "dir"] {
        let output = cluster.hq(&["server", "start", "--journal", path]);
        assert!(output.fails(1).contains(path), "{output:?}");
    }
    assert_eq!(cluster.read("notes.txt"), "important\n");
    cluster.start_server(&["--journal", "new"]);
    assert_eq!(cluster.json(&["job", "list", "--all"]), Value::Array(vec![]));
    assert!(fs::metadata(cluster.path("new")).unwrap().len() > 0);
}

#[test]
fn events_are_chosen_by_kind_and_job() {
    let mut cluster = Cluster::start();
    cluster.submit(&["--array=1-3", "true"]);
    cluster.submit(&["true"]);
    let _worker = cluster.worker("w", "1");
    cluster.finished(1);
    cluster.finished(2);
    let kinds = |args: &[&str]| {
        let output = cluster.hq(&[&["journal", "replay"], args].concat());
        let kind = |line: &str| {
            let line: Value = serde_json::from_str(line).unwrap();
            line["event"]["type"].as_str().unwrap().to_owned()
        };
        output.ok().lines().map(kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&["--filter=server,worker"]), ["server-start", "worker-connected"]);
    assert_eq!(kinds(&["--job=2"]), ["job-created", "task-started", "task-finished", "job-completed"]);
    assert_eq!(kinds(&["--job=1", "--filter=task"]).len(), 6);
}

//! Workers that outlive their server and come back to the one that follows it.

use std::fs;

use hq_tests::{Cluster, Process, Signal, eventually};

const JOURNAL: [&str; 2] = ["--journal", "journal"];
const RECONNECT: [&str; 3] = ["--on-server-lost=reconnect", "--heartbeat=2s", "--cpus"];

/// Says which run of it this is, and ends when it may.
const SCRIPT: &str = "echo $HQ_INSTANCE_ID >> ran-$HQ_TASK_ID; until [ -e go-$HQ_TASK_ID ]; do sleep 0.05; done; \
                      echo $HQ_INSTANCE_ID >> ended-$HQ_TASK_ID";

fn worker(cluster: &mut Cluster, name: &str, cpus: &str) -> Process {
    cluster.worker_with(name, &[&RECONNECT[..], &[cpus]].concat())
}

fn let_go(cluster: &Cluster, task: u32) {
    fs::write(cluster.path(&format!("go-{task}")), "").unwrap();
}

fn until_file(cluster: &Cluster, name: &str) {
    eventually(name, || cluster.read(name), |text| !text.is_empty());
}

#[test]
fn running_tasks_are_adopted_and_none_runs_twice() {
    let mut cluster = Cluster::start_with(&JOURNAL);
    let mut worker = worker(&mut cluster, "w1", "3");
    let job = cluster.submit(&["--array=1-4", "bash", "-c", SCRIPT]);
    cluster.until(job, "running", 3);
    (1..=3).for_each(|task| until_file(&cluster, &format!("ran-{task}")));
    cluster.server().kill();
    // One ends while nobody is there.
    let_go(&cluster, 1);
    until_file(&cluster, "ended-1");
    cluster.start_server(&JOURNAL);
    cluster.until(job, "finished", 1);
    until_file(&cluster, "ran-4");
    // Once more, and by a signal: the server ends as if it died.
    cluster.server().signal(Signal::TERM);
    assert_eq!(cluster.server().wait(), 0);
    cluster.start_server(&JOURNAL);
    cluster.until(job, "running", 3);
    assert_eq!(cluster.worker_state(1), "RUNNING", "it is the same worker");
    (2..=4).for_each(|task| let_go(&cluster, task));
    cluster.until(job, "finished", 4);
    let ran: Vec<String> = (1..=4).map(|task| cluster.read(&format!("ran-{task}"))).collect();
    assert_eq!(ran, ["0\n"; 4]);
    assert!(worker.is_running());
    // On purpose it ends with its server.
    cluster.hq(&["server", "stop"]).ok();
    assert_eq!(worker.wait(), 1);
}

#[test]
fn a_worker_without_a_server_ends_after_its_time() {
    let mut cluster = Cluster::start();
    let args = ["--on-server-lost=reconnect", "--reconnect-timeout=500ms", "--cpus=1"];
    let mut worker = cluster.worker_with("w1", &args);
    let job = cluster.submit(&["bash", "-c", "echo $$ > pid; sleep 3600"]);
    cluster.until(job, "running", 1);
    until_file(&cluster, "pid");
    cluster.server().kill();
    assert_eq!(worker.wait(), 1);
    let pid = cluster.read("pid").trim().to_owned();
    eventually("the task is gone", || fs::exists(format!("/proc/{pid}")).unwrap(), |there| !there);
}

#[test]
fn a_worker_that_is_unknown_begins_anew() {
    // Without a journal, and by the number that a new server gives.
    let mut cluster = Cluster::start();
    let worker = worker(&mut cluster, "w1", "1");
    let job = cluster.submit(&["sleep", "3600"]);
    cluster.until(job, "running", 1);
    cluster.server().kill();
    cluster.start_server(&[]);
    cluster.until_worker(1, "RUNNING");
    cluster.finished(cluster.submit(&["true"]));
    drop(worker);
}

#[test]
fn a_worker_that_stands_still_is_adopted_or_begins_anew() {
    let mut cluster = Cluster::start_with(&JOURNAL);
    let args = ["--on-server-lost=reconnect", "--heartbeat=200ms", "--cpus=1"];
    let worker = cluster.worker_with("w1", &args);
    let job = cluster.submit(&["bash", "-c", SCRIPT.replace("$HQ_TASK_ID", "0").as_str()]);
    until_file(&cluster, "ran-0");
    worker.signal(Signal::STOP);
    cluster.until_worker(1, "HEARTBEAT LOST");
    worker.signal(Signal::CONT);
    // Its run was given away; it comes as a new worker and runs it again.
    eventually("a new worker", || cluster.json(&["worker", "list"])[0]["id"].clone(), |id| *id == 2);
    let_go(&cluster, 0);
    cluster.until(job, "finished", 1);
    eventually("it is run again", || cluster.read("ran-0"), |ran| ran == "0\n1\n");
    assert_eq!(cluster.read("ended-0").lines().last(), Some("1"));
}

#[test]
fn the_timeout_belongs_to_the_policy() {
    let cluster = Cluster::start();
    let args = ["worker", "start", "--cpus=1", "--detect-resources=none", "--reconnect-timeout=5s"];
    let error = cluster.hq(&args).fails(1);
    assert!(error.contains("--on-server-lost reconnect"), "{error}");
}

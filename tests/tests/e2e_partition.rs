//! W3, W5: workers and clients behind a network that stands still for a while. A stand-in: a proxy on this machine holds the
//! bytes back, as a switch would; nothing is reset.

use std::fs;

use hq_tests::{Cluster, Process, Proxy, Signal, eventually};
use serde_json::Value;

const JOURNAL: [&str; 2] = ["--journal", "journal"];

/// Says which run it is, and ends when that one may.
const SCRIPT: &str = "echo $HQ_INSTANCE_ID >> ran; until [ -e go-$HQ_INSTANCE_ID ]; do sleep 0.05; done; \
                      echo $HQ_INSTANCE_ID >> ended; exit $HQ_INSTANCE_ID";

/// A server directory `name` that leads through a proxy.
fn way(cluster: &Cluster, name: &str, role: &str) -> Proxy {
    let mut record = cluster.record();
    let proxy = Proxy::to(record[role]["port"].as_u64().unwrap() as u16);
    record[role]["host"] = "127.0.0.1".into();
    record[role]["port"] = proxy.port().into();
    cluster.put_record(&format!("{name}/hq-current/access.json"), &record);
    proxy
}

/// A worker behind a proxy.
fn worker_behind(cluster: &mut Cluster, way: &str, on_server_lost: &str) -> Process {
    let mut command = cluster.bare_command();
    command.args(["--server-dir", way, "worker", "start", "--cpus=1", "--detect-resources=none", "--heartbeat=500ms"]);
    command.args(["--hostname=w1", "--work-dir=work-w1", "--on-server-lost", on_server_lost]);
    let worker = cluster.spawn(&mut command, "w1");
    eventually("the worker is there", || cluster.json(&["worker", "list"]), |list| list.as_array().unwrap().len() == 1);
    worker
}

fn ends_of_tasks(cluster: &Cluster) -> usize {
    let export = cluster.hq(&["journal", "export", "journal"]);
    let ends = |line: &&str| line.contains("\"task-finished\"") || line.contains("\"task-failed\"");
    export.ok().lines().filter(ends).count()
}

/// The task is run again elsewhere; what the first run says late changes nothing.
fn a_parted_workers_task(on_server_lost: &str, late_end: bool) {
    let mut cluster = Cluster::start_with(&[&JOURNAL[..], &["--host", "localhost"]].concat());
    let proxy = way(&cluster, "way", "worker");
    let mut first = worker_behind(&mut cluster, "way", on_server_lost);
    let job = cluster.submit(&["bash", "-c", SCRIPT]);
    eventually("it runs", || cluster.read("ran"), |ran| ran == "0\n");
    proxy.part();
    cluster.until_worker(1, "HEARTBEAT LOST");
    let _second = cluster.worker_with("w2", &["--cpus=1"]);
    eventually("it runs elsewhere", || cluster.read("ran"), |ran| ran == "0\n1\n");
    if late_end {
        // Well for the first run; the second one will end badly, so that it shows whose end counts.
        fs::write(cluster.path("go-0"), "").unwrap();
        eventually("the first run ends", || cluster.read("ended"), |ended| ended == "0\n");
    }
    proxy.heal();
    match on_server_lost {
        "reconnect" => {
            let count = |list: &Value| list.as_array().unwrap().len() == 2;
            eventually("it comes as a new worker", || cluster.json(&["worker", "list"]), count);
        }
        _ => assert_eq!(first.wait(), 1, "it is lost, and hears of it"),
    }
    assert_eq!(cluster.stats(job)["running"], 1, "the second run is the one that counts");
    fs::write(cluster.path("go-1"), "").unwrap();
    let stats = &cluster.json(&["job", "info", &job.to_string()])[0]["info"]["task_stats"];
    assert_eq!(stats["finished"], 0);
    cluster.until(job, "failed", 1);
    assert_eq!(ends_of_tasks(&cluster), 1, "exactly one end in the books");
    // A restart knows no more of it.
    cluster.server().kill();
    cluster.start_server(&JOURNAL);
    assert_eq!(cluster.stats(job)["failed"], 1);
    assert_eq!(cluster.read("ended"), if late_end { "0\n1\n" } else { "1\n" }, "the first run is killed");
}

#[test]
fn w3_a_parted_worker_comes_back_with_an_end() {
    a_parted_workers_task("reconnect", true);
}

#[test]
fn w3_a_parted_worker_comes_back_and_still_runs_it() {
    a_parted_workers_task("reconnect", false);
}

#[test]
fn w3_a_parted_worker_that_does_not_come_back() {
    a_parted_workers_task("stop", true);
}

/// Shorter than the server waits: nothing is lost, nothing is run twice.
#[test]
fn w5_a_short_stand_still_changes_nothing() {
    let mut cluster = Cluster::start_with(&[&JOURNAL[..], &["--host", "localhost"]].concat());
    let proxy = way(&cluster, "way", "worker");
    let mut command = cluster.bare_command();
    command.args(["--server-dir", "way", "worker", "start", "--cpus=1", "--detect-resources=none", "--heartbeat=20s"]);
    let _worker = cluster.spawn(&mut command, "w1");
    let job = cluster.submit(&["bash", "-c", SCRIPT]);
    eventually("it runs", || cluster.read("ran"), |ran| ran == "0\n");
    proxy.part();
    fs::write(cluster.path("go-0"), "").unwrap();
    eventually("it ends", || cluster.read("ended"), |ended| ended == "0\n");
    assert_eq!(cluster.stats(job)["running"], 1, "nobody has told the server");
    proxy.heal();
    cluster.until(job, "finished", 1);
    assert_eq!((ends_of_tasks(&cluster), cluster.read("ran")), (1, "0\n".to_owned()));
}

/// A client that waits hears of the end once bytes go through again, and one of another way was never parted.
#[test]
fn w5_a_client_that_waits_is_told_later() {
    let mut cluster = Cluster::start_with(&[&JOURNAL[..], &["--host", "localhost"]].concat());
    let proxy = way(&cluster, "way", "client");
    let _worker = cluster.worker("w1", "1");
    let job = cluster.submit(&["bash", "-c", SCRIPT]);
    let mut command = cluster.bare_command();
    command.args(["--server-dir", "way", "job", "wait", &job.to_string()]);
    let mut waits = cluster.spawn(&mut command, "waits");
    eventually("it runs", || cluster.read("ran"), |ran| ran == "0\n");
    proxy.part();
    fs::write(cluster.path("go-0"), "").unwrap();
    cluster.until(job, "finished", 1);
    assert!(waits.is_running());
    proxy.heal();
    assert_eq!(waits.wait(), 0, "{}", waits.printed());
}

/// The server stands still for longer than workers wait: its tasks go on, and each ends once.
#[test]
fn w5_a_server_that_stands_still() {
    let mut cluster = Cluster::start_with(&JOURNAL);
    let _worker = cluster.worker_with("w1", &["--cpus=2", "--heartbeat=300ms", "--on-server-lost=reconnect"]);
    let job = cluster.submit(&[
        "--array=0-1",
        "bash",
        "-c",
        "echo $HQ_TASK_ID >> ran; until [ -e go ]; do sleep 0.05; done; echo >> ended",
    ]);
    cluster.until(job, "running", 2);
    let server = cluster.server();
    server.signal(Signal::STOP);
    fs::write(cluster.path("go"), "").unwrap();
    eventually("tasks end", || cluster.read("ended"), |ended| ended == "\n\n");
    cluster.server().signal(Signal::CONT);
    cluster.until(job, "finished", 2);
    assert_eq!(ends_of_tasks(&cluster), 2);
}

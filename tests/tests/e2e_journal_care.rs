//! `hq journal prune|repair` and `hq server start --takeover`: rows J2, J4, J11 of the fault matrix with real processes.

use std::{collections::BTreeSet, fs};

use hq_tests::{Cluster, eventually, finish};
use serde_json::{Value, json};

const JOURNAL: [&str; 2] = ["--journal", "journal"];

fn size(cluster: &Cluster) -> u64 {
    fs::metadata(cluster.path("journal")).unwrap().len()
}

/// Ids that events of a journal name, by the key that has them.
fn named(cluster: &Cluster) -> [BTreeSet<u64>; 2] {
    let text = cluster.hq(&["journal", "export", "journal"]).ok().to_owned();
    let events: Vec<Value> =
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["event"].clone()).collect();
    let ids = |event: &Value, keys: &[&str]| keys.iter().filter_map(|key| event[*key].as_u64()).collect::<Vec<_>>();
    let jobs = events.iter().flat_map(|event| ids(event, &["job", "job_id"])).collect();
    let is_worker = |event: &&Value| event["type"].as_str().is_some_and(|kind| kind.contains("worker"));
    let workers = events.iter().filter(is_worker).flat_map(|event| ids(event, &["id"])).collect();
    [jobs, workers]
}

#[test]
fn a_prune_keeps_what_is_not_over() {
    let mut cluster = Cluster::start_with(&JOURNAL);
    let mut gone = cluster.worker("gone", "4");
    cluster.finished(cluster.submit(&["--array=1-100", "true"]));
    gone.kill();
    cluster.until_worker(1, "CONNECTION LOST");
    let worker = cluster.worker("stays", "3");
    let running = cluster.submit(&["--array=1-3", "bash", "-c", "[ $HQ_TASK_ID = 1 ] || sleep 3600"]);
    cluster.until(running, "finished", 1);
    cluster.until(running, "running", 2);
    cluster.hq(&["job", "open"]).ok();
    let waiting = cluster.submit(&["--cpus=100", "true"]);
    assert_eq!((running, waiting), (2, 4));
    let before = size(&cluster);
    cluster.hq(&["journal", "prune"]).ok();
    assert!(size(&cluster) < before, "{} of {before} bytes", size(&cluster));
    assert_eq!(named(&cluster), [BTreeSet::from([2, 3, 4]), BTreeSet::from([2])]);
    // The running server goes on, and shows what it has.
    assert_eq!(cluster.json(&["job", "list", "--all"]).as_array().unwrap().len(), 4);
    cluster.finished(cluster.submit(&["true"]));
    let live = cluster.json(&["job", "info", "2"])[0].clone();
    cluster.server().kill();
    drop(worker);
    cluster.start_server(&JOURNAL);
    let restored = cluster.json(&["job", "info", "2"])[0].clone();
    assert_eq!((&restored["submits"], &restored["started_at"]), (&live["submits"], &live["started_at"]));
    assert_eq!(restored["tasks"][0]["state"], live["tasks"][0]["state"]);
    let stats = &restored["info"]["task_stats"];
    assert_eq!((&stats["finished"], &stats["waiting"]), (&json!(1), &json!(2)));
    // Ids go on; two workers were there, and one id is left out.
    assert_eq!(cluster.submit(&["true"]), 6);
    let _worker = cluster.worker("after", "1");
    assert_eq!(cluster.json(&["worker", "list"])[0]["id"], 4);
}

#[test]
fn a_journal_is_pruned_without_its_server() {
    let mut cluster = Cluster::start_with(&JOURNAL);
    let worker = cluster.worker("w", "4");
    cluster.finished(cluster.submit(&["--array=1-50", "true"]));
    cluster.submit(&["--cpus=100", "true"]);
    assert!(cluster.hq(&["journal", "prune", "journal"]).fails(1).contains("in use"), "only offline");
    cluster.hq(&["server", "stop"]).ok();
    cluster.server().wait();
    drop(worker);
    let before = size(&cluster);
    cluster.hq(&["journal", "prune", "journal"]).ok();
    assert!(size(&cluster) < before);
    assert_eq!(named(&cluster)[0], BTreeSet::from([2]));
    cluster.start_server(&JOURNAL);
    assert_eq!(cluster.submit(&["true"]), 3);
    let mut other = Cluster::start();
    let text = other.hq(&["journal", "prune"]).fails(1);
    assert!(text.contains("keeps no journal"), "{text}");
    other.server().kill();
}

#[test]
fn damage_is_named_and_repaired() {
    let mut cluster = Cluster::start_with(&JOURNAL);
    for _ in 0..8 {
        cluster.submit(&["--array=1-10", "sleep", "1"]);
    }
    cluster.hq(&["server", "stop"]).ok();
    cluster.server().wait();
    let whole = fs::read(cluster.path("journal")).unwrap();
    let start = |cluster: &Cluster| cluster.hq(&["server", "start", "--journal", "journal"]);

    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 4;
    fs::write(cluster.path("journal"), &flipped).unwrap();
    let text = start(&cluster).fails(1);
    assert!(text.contains(&format!("bit 2 of byte {}", whole.len() / 2)) && text.contains("repair"), "{text}");
    let said = cluster.hq(&["journal", "repair", "journal"]).ok().to_owned();
    assert!(said.contains("a flipped bit"), "{said}");
    assert_eq!(fs::read(cluster.path("journal.bad")).unwrap(), flipped);
    cluster.start_server(&JOURNAL);
    assert_eq!(cluster.json(&["job", "list"]).as_array().unwrap().len(), 8);
    cluster.server().kill();

    let mut hole = whole;
    let middle = hole.len() / 2;
    hole[middle..middle + 512].fill(0);
    fs::write(cluster.path("journal"), &hole).unwrap();
    let text = start(&cluster).fails(1);
    assert!(text.contains("is damaged at byte") && text.contains("valid records follow"), "{text}");
    let refused = cluster.hq(&["journal", "repair", "journal"]).fails(1);
    assert!(refused.contains("--skip-hole"), "{refused}");
    assert_eq!(fs::read(cluster.path("journal")).unwrap(), hole);
    cluster.hq(&["journal", "repair", "--skip-hole", "journal"]).ok();
    assert_eq!(fs::read(cluster.path("journal.bad.1")).unwrap(), hole);
    cluster.start_server(&JOURNAL);
    let list = cluster.json(&["job", "list"]);
    let kept = list.as_array().unwrap().len();
    assert!((4..8).contains(&kept), "{kept} jobs are kept");
    assert!(list.as_array().unwrap().iter().all(|job| job["task_stats"]["waiting"] == 10));
    assert_eq!(cluster.submit(&["true"]), 9, "ids go on");
}

#[test]
fn a_journal_is_taken_over_from_a_server_that_then_ends() {
    let mut cluster = Cluster::start_with(&JOURNAL);
    cluster.submit(&["--cpus=100", "true"]);
    let other = cluster.path("other").display().to_string();
    let mut command = cluster.bare_command();
    command.args(["--server-dir", &other, "server", "start", "--journal", "journal", "--takeover"]);
    let second = cluster.spawn(&mut command, "second");
    let ask = |cluster: &Cluster, args: &[&str]| {
        finish(cluster.bare_command().args(["--server-dir", &other, "--output-mode", "json"]).args(args))
    };
    eventually("second server", || ask(&cluster, &["job", "list"]).code, |code| *code == 0);
    assert_eq!(ask(&cluster, &["job", "list"]).json().as_array().unwrap().len(), 1);
    // Nothing is asked of it: it finds out by itself.
    assert_eq!(cluster.server().wait(), 1, "it leaves all else to the one who has the journal");
    let log = cluster.read("server-0.log");
    assert!(log.contains("taken over by process") && !log.contains("mend the disk"), "{log}");
    ask(&cluster, &["submit", "--cpus=100", "true"]).ok();
    drop(second);
}

#[test]
fn a_takeover_that_is_refused_takes_nothing() {
    let cluster = Cluster::start_with(&JOURNAL);
    let text = cluster.hq(&["server", "start", "--journal", "journal", "--takeover"]).fails(1);
    assert!(text.contains("already online"), "{text}");
    cluster.submit(&["true"]);
}

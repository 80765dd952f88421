//! J8, J10: `kill -9` of a real server before, within and after each kind of call that its journal makes, and each answer.
//! What was answered is there after a restart; what was not is there as a whole or not at all.
//!
//! `HQ_KILL_POINTS=N` tries the first N calls of each kind instead of those that are named here.

use hq_tests::{Cluster, Fault, finish, number_from_env};
use serde_json::Value;

const JOURNAL: [&str; 2] = ["--journal", "journal"];

/// What a client knows of what it asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    NotAsked,
    /// Asked, and no answer came.
    Unknown,
    Done,
}
use Known::{Done, NotAsked, Unknown};

/// The commands of a life, in order.
#[derive(Debug)]
struct History {
    done: Vec<Known>,
}

const SUBMIT: usize = 0;
const OPEN: usize = 1;
const ATTACH: usize = 2;
const CANCEL: usize = 3;
const CLOSE: usize = 4;
const PRUNE: usize = 5;
const SUBMIT_AGAIN: usize = 6;
const CANCEL_AGAIN: usize = 7;

const LIFE: [&[&str]; 8] = [
    &["submit", "--name=first", "--array=1-3", "sleep", "1"],
    &["job", "open", "--name=second"],
    &["submit", "--job=2", "--array=1-5", "sleep", "1"],
    &["job", "cancel", "1"],
    &["job", "close", "2"],
    &["journal", "prune"],
    &["submit", "--name=third", "--array=1-4", "sleep", "1"],
    &["job", "cancel", "3"],
];

impl History {
    /// Lives it until the server is gone.
    fn live(cluster: &Cluster) -> Self {
        let mut done = vec![NotAsked; LIFE.len()];
        for (known, args) in done.iter_mut().zip(LIFE) {
            *known = Unknown;
            if finish(&mut cluster.command(args)).code != 0 {
                break;
            }
            *known = Done;
        }
        Self { done }
    }

    /// Whether something that was asked for may be, or must be.
    fn may(&self, what: usize) -> bool {
        self.done[what] != NotAsked
    }

    fn must(&self, what: usize) -> bool {
        self.done[what] == Done
    }

    fn check(&self, jobs: &[Value], point: &str) {
        let job = |id: u64| jobs.iter().find(|job| job["id"] == id);
        let count = |job: &Value, state: &str| job["task_stats"][state].as_u64().unwrap();
        let told = format!("{point}: {:?}\n{jobs:#?}", self.done);
        let mut known = 0;
        // A submit is whole, and so is its cancel. A prune leaves out what is completed.
        for (id, name, tasks, submit, cancel, prune) in
            [(1, "first", 3, SUBMIT, CANCEL, Some(PRUNE)), (3, "third", 4, SUBMIT_AGAIN, CANCEL_AGAIN, None)]
        {
            let is_pruned = self.may(cancel) && prune.is_some_and(|prune| self.may(prune));
            let Some(job) = job(id) else {
                assert!(!self.must(submit) || is_pruned, "job {id} is lost: {told}");
                continue;
            };
            known += 1;
            assert!(self.may(submit) && job["name"] == name, "{told}");
            let canceled = count(job, "canceled");
            assert_eq!(canceled + count(job, "waiting"), tasks, "{told}");
            assert!(canceled == tasks || (canceled == 0 && !self.must(cancel)), "{told}");
            assert!(canceled == 0 || self.may(cancel), "{told}");
        }
        match job(2) {
            None => assert!(!self.must(OPEN), "job 2 is lost: {told}"),
            Some(job) => {
                known += 1;
                let tasks = job["task_count"].as_u64().unwrap();
                assert!(self.may(OPEN) && job["name"] == "second", "{told}");
                assert!(tasks == 5 || (tasks == 0 && !self.must(ATTACH)), "{told}");
                assert!(tasks == 0 || self.may(ATTACH), "{told}");
                let is_open = job["is_open"].as_bool().unwrap();
                assert!(if is_open { !self.must(CLOSE) } else { self.may(CLOSE) }, "{told}");
            }
        }
        assert_eq!(jobs.len(), known, "jobs that nobody submitted: {told}");
    }
}

/// Lives with a fault; the server is started again without one, and all is as it has to be.
fn survive(name: &str, files: &str) {
    let mut cluster = Cluster::new();
    let fault = Fault { name, files, while_there: None };
    let mut server = fault.server(&mut cluster, &JOURNAL);
    let history = if server.is_running() { History::live(&cluster) } else { History { done: vec![NotAsked; 8] } };
    let is_over = number_from_env("HQ_KILL_POINTS", 0) > 0;
    assert!(is_over || fault.has_happened(&cluster), "{name} is never reached: {history:?}");
    server.kill();
    cluster.start_server(&JOURNAL);
    let jobs = cluster.json(&["job", "list", "--all"]);
    history.check(jobs.as_array().unwrap(), name);
    // Twice: what a restart mends stays so.
    cluster.server().kill();
    cluster.start_server(&JOURNAL);
    assert_eq!(cluster.json(&["job", "list", "--all"]), jobs, "{name}");
    // It takes work as before.
    let next = cluster.submit(&["true"]);
    assert!(jobs.as_array().unwrap().iter().all(|job| job["id"] != next), "{name}");
}

/// J8: a file is sealed once it has 64 MiB, and another goes on.
#[test]
fn j8_around_a_new_segment() {
    let points = [
        ("link:after:1", "journal."),
        ("rename:before:2", "journal"),
        ("rename:after:2", "journal"),
        ("write:half:3", "journal.next"),
    ];
    for (name, files) in points {
        let mut cluster = Cluster::new();
        std::fs::write(cluster.path("entries"), format!("{}\n", "x".repeat(100_000)).repeat(ENTRIES)).unwrap();
        let fault = Fault { name, files, while_there: None };
        let mut server = fault.server(&mut cluster, &JOURNAL);
        // What is made at the start has these names as well.
        assert!(server.is_running() || fault.has_happened(&cluster));
        let mut done = 0;
        while done < 6 && submit_entries(&cluster) {
            done += 1;
        }
        assert!(fault.has_happened(&cluster), "{name} is never reached");
        server.kill();
        cluster.start_server(&JOURNAL);
        let jobs = cluster.json(&["job", "list", "--all"]);
        let jobs = jobs.as_array().unwrap();
        assert!(jobs.len() == done || jobs.len() == done + 1, "{name}: {} of {done} jobs", jobs.len());
        assert!(jobs.iter().all(|job| job["task_stats"]["waiting"] == ENTRIES));
        assert!(submit_entries(&cluster));
    }
}

/// Of 100,000 bytes each.
const ENTRIES: usize = 150;

fn submit_entries(cluster: &Cluster) -> bool {
    cluster.hq(&["submit", "--each-line=entries", "true"]).code == 0
}

fn survive_all(call: &str, files: &str, kinds: &[&str], numbers: &[u64]) {
    let all: Vec<u64> = (1..=number_from_env("HQ_KILL_POINTS", 0)).collect();
    for n in if all.is_empty() { numbers } else { &all } {
        kinds.iter().for_each(|what| survive(&format!("{call}:{what}:{n}"), files));
    }
}

#[test]
fn j8_around_appends() {
    survive_all("write", "journal", &["before", "half", "after"], &[1, 4, 7]);
}

#[test]
fn j8_around_syncs() {
    survive_all("sync", "journal", &["before", "after"], &[2, 4, 6, 8]);
}

#[test]
fn j8_around_answers() {
    survive_all("answer", "", &["before", "after"], &[3, 6, 9, 12, 15]);
}

#[test]
fn j10_around_changes_of_names() {
    survive_all("rename", "journal", &["before", "after"], &[1, 2]);
    survive_all("unlink", "journal", &["before", "after"], &[1]);
    survive_all("syncdir", "journal", &["before", "after"], &[1, 2]);
}

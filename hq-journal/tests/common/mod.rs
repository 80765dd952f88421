#![expect(unreachable_pub, reason = "one module for several tests")]
#![allow(dead_code, reason = "no test needs all of it")]

pub mod ledger;

use std::{path::Path, sync::Arc};

use hq_core::{
    Blob, End, Ends, Epoch, Fact, GrantId, JobId, JobSpec, JobTarget, Ordinal, OrdinalRange, Profile, Record, Request,
    Seq, Submit, TaskIds, Tick,
};
use hq_journal::{FileJournal, FileOptions, Journal, OpenError, Recovery, Urgency};
use tempfile::TempDir;

/// A directory on which a sync costs little, where there is one: for tests that open thousands of files.
pub fn fast_dir() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

pub fn open(path: &Path) -> Result<(FileJournal, Recovery), OpenError> {
    FileJournal::open(path, FileOptions::default(), Arc::new(|_| {}))
}

/// Writes the batches from record 1 on, and closes.
pub fn write(path: &Path, batches: &[Vec<Record>]) {
    let (mut journal, recovery) = open(path).unwrap();
    let mut next = recovery.next;
    for batch in batches {
        journal.append(Epoch(1), next, batch, Urgency::Lazy).unwrap();
        next = Seq(next.0 + batch.len() as u64);
    }
    Box::new(journal).close().unwrap();
}

pub fn contents(journal: &FileJournal) -> Vec<Record> {
    numbered(journal, 1).into_iter().map(|(_, record)| record).collect()
}

pub fn numbered(journal: &FileJournal, from: u64) -> Vec<(Seq, Record)> {
    journal.read(Seq(from)).collect::<Result<_, _>>().unwrap()
}

pub fn closed(at: u64, job: u32) -> Record {
    Record { at: Tick(at), fact: Fact::JobClosed { job: JobId(job) } }
}

pub fn submitted(base: u64, tasks: u32, shared: &[u8]) -> Record {
    let profile = Profile::new(Request::cpus(1).unwrap());
    let target = JobTarget::Attach(JobId(1));
    let submit = Submit::array(target, TaskIds::Next(tasks), "program", Blob::from(shared), profile);
    Record { at: Tick(base), fact: Fact::Submitted { job: JobId(1), base: Ordinal(base), submit: Arc::new(submit) } }
}

pub fn finished(at: u64, grant: u32, ends: impl IntoIterator<Item = End>) -> Record {
    let grant = GrantId { epoch: Epoch(1), n: grant };
    Record { at: Tick(at), fact: Fact::TasksFinished { grant, ends: Ends::new(ends) } }
}

/// A small journal with batches of one and of several records.
pub fn batches() -> Vec<Vec<Record>> {
    let grant = GrantId { epoch: Epoch(1), n: 1 };
    let fact = |fact| Record { at: Tick(5000), fact };
    vec![
        vec![fact(Fact::Boot { epoch: Epoch(1), server_uid: "u".into(), wall: 1 << 50, version: "0.1".into() })],
        vec![
            fact(Fact::JobOpened { job: JobId(1), spec: JobSpec { name: "a".into(), max_fails: None } }),
            submitted(1, 3, b"true"),
        ],
        vec![
            fact(Fact::GrantExtended { grant, tasks: vec![OrdinalRange::new(Ordinal(1), 3)] }),
            finished(9000, 1, [End { task: Ordinal(1), start: Tick(6000), end: Tick(8000) }]),
            closed(1, 2),
        ],
        vec![fact(Fact::TaskFailed { grant: None, task: Ordinal(3), start: None, error: "exit code 1".into() })],
    ]
}

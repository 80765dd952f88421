//! What a journal costs: bytes of ends, restore, acknowledged submits.
//!
//! `cargo bench -p hq-benches --bench journal [-- ENDS [DIRECTORY]]`
//!
//! Files are made in DIRECTORY (default: the system's temporary one), whose disk is what syncs are measured on.
#![allow(clippy::print_stdout, missing_docs)]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use hq_client::Client;
use hq_core::{
    Allocation, End, Ends, Epoch, Fact, GrantId, IdList, JobId, JobSpec, JobTarget, Ordinal, OrdinalRange, Profile,
    Record, Request, Seq, Span, Submit, TaskIds, Tick, WorkerConfig, WorkerId, WorkerResources,
};
use hq_engine::{Engine, serve::ServeOptions};
use hq_journal::{Condense, FileJournal, FileOptions, Journal, Keep, Urgency};
use hq_scheduler::Condenser;

/// Lanes on which the tasks ran.
const LANES: u64 = 4;
/// Ends in a report of a lane.
const BATCH: u64 = 100;
const CLIENTS: u64 = 100;
/// Two years after the engine's epoch, so that numbers are as long as they get.
const LATE: u64 = 63_000_000_000_000;

fn main() {
    let mut args = std::env::args().skip(1).filter(|arg| !arg.starts_with("--"));
    let ends = args.next().and_then(|arg| arg.parse().ok()).unwrap_or(10_000_000);
    let dir = args.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let dir = tempfile::tempdir_in(dir).unwrap();
    alone(dir.path());
    restore(dir.path(), ends);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(submits(dir.path()));
}

struct Boil(Condenser);

impl Condense for Boil {
    fn take(&mut self, _: Seq, record: Record) -> Result<(), String> {
        self.0.take(&record)
    }

    fn finish(self: Box<Self>) -> Vec<Record> {
        self.0.records()
    }
}

fn boil(_: Keep) -> Box<dyn Condense> {
    Box::new(Boil(Condenser::new()))
}

fn open(path: &Path, condenses: bool) -> (FileJournal, u64) {
    let condenser = condenses.then_some(boil as fn(Keep) -> Box<dyn Condense>);
    let options = FileOptions { condenser, ..FileOptions::default() };
    let (journal, recovery) = FileJournal::open(path, options, Arc::new(|_| {})).unwrap();
    (journal, recovery.next.0)
}

fn size(path: &Path) -> u64 {
    let name = path.file_name().unwrap().to_str().unwrap();
    let files = fs::read_dir(path.parent().unwrap()).unwrap().map(Result::unwrap);
    let ours = files.filter(|file| file.file_name().to_str().unwrap().starts_with(name));
    ours.map(|file| file.metadata().unwrap().len()).sum()
}

fn at(tick: u64, fact: Fact) -> Record {
    Record { at: Tick(LATE + tick), fact }
}

const fn grant(n: u64) -> GrantId {
    GrantId { epoch: Epoch(1), n: n as u32 + 1 }
}

/// How a server came to have an array of `n` tasks in lanes on a worker.
fn beginning(n: u64) -> Vec<Record> {
    let profile = Profile::new(Request::cpus(1).unwrap());
    let ids = TaskIds::Given(IdList::range(0, n as u32));
    let target = JobTarget::New(JobSpec { name: "bench".into(), max_fails: None });
    let submit = Submit::array(target, ids, "program", b"true".to_vec().into(), profile);
    let (worker, config) = (WorkerId(1), WorkerConfig::new("node", WorkerResources::cpus(LANES as u32).unwrap()));
    let boot = Fact::Boot { epoch: Epoch(1), server_uid: "bench1".into(), wall: 1 << 50, version: "0.1.0".into() };
    let mut facts = vec![
        boot,
        Fact::Submitted { job: JobId(1), base: Ordinal(0), submit: Arc::new(submit) },
        Fact::WorkerJoined { worker, config: Arc::new(config.clone()) },
    ];
    let mut pools = hq_scheduler::pool::Pools::new(&config.resources);
    for lane in 0..LANES {
        let allocation: Allocation = pools.allocate(&Request::cpus(1).unwrap()).unwrap();
        assert!(pools.take(&allocation));
        let (allocation, workers) = (Arc::new(allocation), vec![worker]);
        let tasks = vec![OrdinalRange::new(Ordinal(lane * n / LANES), n / LANES)];
        facts.push(Fact::GrantOpened { grant: grant(lane), workers, class: None, variant: 0, allocation, tasks });
    }
    facts.into_iter().map(|fact| at(0, fact)).collect()
}

/// Ends of tasks `from..from + n` of a lane, a millisecond each, some of it between them.
fn finished(lane: u64, of_lane: u64, from: u64, n: u64) -> Record {
    let end = |i: u64| {
        let start = Tick(LATE + i * 1000 + i * 7919 % 13);
        End { task: Ordinal(lane * of_lane + i), start, end: start.after(Span(940 + i * 104_729 % 31)) }
    };
    let ends = Ends::new((from..from + n).map(end));
    at((from + n) * 1000, Fact::TasksFinished { grant: grant(lane), ends })
}

fn alone(dir: &Path) {
    let path = dir.join("alone");
    for n in [1, 64, 1000] {
        let growth = |count: u64| {
            let _ = fs::remove_file(&path);
            let (mut journal, _) = open(&path, false);
            let mut next = 1;
            let batches =
                std::iter::once(beginning(1 << 20)).chain((0..count).map(|i| vec![finished(0, 1 << 18, i * n, n)]));
            for batch in batches {
                journal.append(Epoch(1), Seq(next), &batch, Urgency::Lazy).unwrap();
                next += batch.len() as u64;
            }
            Box::new(journal).close().unwrap();
            size(&path)
        };
        let bytes = growth(101) - growth(1);
        println!("ends in batches of {n:>5}: {:.2} bytes each", bytes as f64 / (100 * n) as f64);
    }
}

fn restore(dir: &Path, ends: u64) {
    let (path, of_lane) = (dir.join("restore"), ends / LANES);
    let (mut journal, mut next) = open(&path, false);
    let mut append = |batch: &[Record]| {
        journal.append(Epoch(1), Seq(next), batch, Urgency::Lazy).unwrap();
        next += batch.len() as u64;
    };
    append(&beginning(ends));
    for from in (0..of_lane).step_by(BATCH as usize) {
        for lane in 0..LANES {
            append(&[finished(lane, of_lane, from, BATCH.min(of_lane - from))]);
        }
    }
    Box::new(journal).close().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let measure = |what: &str| {
        let bytes = size(&path);
        let took = runtime.block_on(async {
            let start = Instant::now();
            let engine = Engine::builder().journal(&path).start().await.unwrap();
            let took = start.elapsed();
            engine.shutdown().await.unwrap();
            took
        });
        println!("{what}: {bytes} bytes, {:.2} an end; restored in {took:.2?}", bytes as f64 / ends as f64);
    };
    measure(&format!("{ends} ends as they came, batches of {BATCH}"));
    let (mut journal, _) = open(&path, true);
    let (sender, done) = mpsc::channel();
    let start = Instant::now();
    journal.condense(Keep::All, Box::new(move |result| sender.send(result).unwrap()));
    done.recv().unwrap().unwrap();
    println!("condensed in {:.2?}", start.elapsed());
    Box::new(journal).close().unwrap();
    measure(&format!("{ends} ends, condensed"));
}

/// Each client submits one task after another and waits for the answer, which says that it is safe.
async fn submits(dir: &Path) {
    let server_dir = dir.join("server");
    let engine = Engine::builder().journal(dir.join("submits")).start().await.unwrap();
    engine.serve(ServeOptions::new(&server_dir).host("localhost")).await.unwrap();
    let (count, length) = (Arc::new(AtomicU64::new(0)), Duration::from_secs(5));
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(Client::connect(&server_dir).await.unwrap());
    }
    let end = Instant::now() + length;
    let tasks: Vec<_> = clients
        .into_iter()
        .map(|client| {
            let count = count.clone();
            tokio::spawn(async move {
                while Instant::now() < end {
                    let profile = Profile::new(Request::cpus(1).unwrap());
                    let job = JobTarget::New(JobSpec::default());
                    let submit = Submit::array(job, TaskIds::Next(1), "program", b"true".to_vec().into(), profile);
                    client.submit(submit).await.unwrap();
                    count.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let rate = count.load(Ordering::Relaxed) as f64 / length.as_secs_f64();
    println!("{rate:.0} acknowledged submits a second over {CLIENTS} connections");
    engine.shutdown().await.unwrap();
}

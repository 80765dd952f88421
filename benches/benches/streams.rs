//! Streamed output: many small tasks against none, and bytes per second into a stream file.
//!
//! `cargo bench -p hq-benches --bench streams [-- TASKS]`
#![allow(clippy::print_stdout, missing_docs)]

use std::{
    path::Path,
    time::{Duration, Instant},
};

use hq_core::{Channel, JobId, TaskNumber, TaskRun, WorkerId};
use hq_engine::{Engine, Job, LocalWorker, Task};
use hq_stream::{Chunk, DATA_MAX, Head, StreamFile};

/// Programs that run at a time.
const WIDTH: u32 = 2;
/// What a task prints: 1 KiB.
const SCRIPT: &str = "printf %1024s x";

fn main() {
    let tasks = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(10_000u32);
    let dir = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let shell = |script: &str| Task::program("/bin/sh").args(["-c", script]);
    // In turn, so that what else the machine does hits all.
    let mut ratios = Vec::new();
    for round in 0..3 {
        let log = dir.path().join(format!("log{round}"));
        let none = runtime.block_on(engine(tasks, shell(SCRIPT)));
        let streamed = runtime.block_on(engine(tasks, shell(SCRIPT).stream(&log)));
        println!("{tasks} tasks of 1 KiB: no output {}, streamed {}", shown(tasks, none), shown(tasks, streamed));
        ratios.push(none.as_secs_f64() / streamed.as_secs_f64());
    }
    ratios.sort_by(f64::total_cmp);
    println!("median: {:.1} % of the rate without output", ratios[1] * 100.0);

    let megabytes = 2_000;
    let log = dir.path().join("much");
    let much = shell(&format!("head -c {megabytes}000000 /dev/zero")).stream(&log);
    let took = runtime.block_on(engine(1, much));
    println!("one task through a worker: {:.0} MB/s", f64::from(megabytes) / took.as_secs_f64());
    let took = writer(&dir.path().join("bare"), megabytes);
    println!("the writer alone: {:.0} MB/s", f64::from(megabytes) / took.as_secs_f64());
}

fn shown(tasks: u32, took: Duration) -> String {
    format!("{:.0}/s", f64::from(tasks) / took.as_secs_f64())
}

async fn engine(tasks: u32, task: impl Into<Task>) -> Duration {
    let engine = Engine::builder().worker(LocalWorker::cpus(WIDTH)).start().await.unwrap();
    let start = Instant::now();
    let job = engine.submit(Job::array(0..tasks, task)).await.unwrap();
    let result = job.wait().await.unwrap();
    let took = start.elapsed();
    assert!(result.is_success());
    engine.shutdown().await.unwrap();
    took
}

fn writer(dir: &Path, megabytes: u32) -> Duration {
    let head = Head { server_uid: "bench0".to_owned(), worker: WorkerId(1) };
    let mut file = StreamFile::create(dir, head).unwrap();
    let (run, data) = (TaskRun { job: JobId(1), task: TaskNumber(0), ..TaskRun::default() }, [7; DATA_MAX]);
    let start = Instant::now();
    let mut offset = 0;
    while offset < u64::from(megabytes) * 1_000_000 {
        file.put(&Chunk { run, channel: Channel::Stdout, time: 0, offset, data: &data });
        offset += data.len() as u64;
        if file.waiting() >= 64 << 10 {
            file.flush().unwrap();
        }
    }
    file.flush().unwrap();
    start.elapsed()
}

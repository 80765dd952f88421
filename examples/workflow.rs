//! A recorded scientific workflow as a real task graph, its run times scaled down.
//!
//! `cargo run --release --example workflow [FILE [SCALE]]`: a file in WfCommons JSON, and how many times faster than
//! recorded it runs (1000 if not given). Without a file: a small survey of the sky of our own.

use std::{env, error::Error, fs, thread};

use hq_engine::{Engine, Job, LocalWorker, Request, Span, Task};
use hq_sim::wfcommons;

const CORES: u32 = 8;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1);
    let text = match args.next() {
        Some(file) => fs::read_to_string(file)?,
        None => include_str!("data/sky-survey.json").to_owned(),
    };
    let scale: u64 = args.next().as_deref().unwrap_or("1000").parse()?;
    let workflow = wfcommons::read(&text)?;

    let mut job = Job::new().name(&workflow.name);
    let mut numbers = Vec::new();
    for task in &workflow.tasks {
        let run = Span(task.run.0 / scale.max(1)).into();
        let parents = task.parents.iter().map(|parent| numbers[*parent]);
        let body = Task::call(move |_| thread::sleep(run)).after_all(parents);
        numbers.push(job.add(body.request(Request::cpus(task.cores.min(CORES))?)));
    }

    let engine = Engine::builder().worker(LocalWorker::cpus(CORES)).start().await?;
    let job = engine.submit(job).await?;
    let result = job.wait().await?;
    println!("{}: {} of {} tasks finished", workflow.name, result.info.counts.finished, workflow.tasks.len());
    let shortest = Span(workflow.critical_path().0 / scale.max(1));
    println!("its longest chain takes {shortest} however many cores there are");
    println!("{}", job.report().await?);
    engine.shutdown().await?;
    Ok(())
}

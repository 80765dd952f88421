//! 1,000 tasks on two make-believe nodes: each asks for two cores of one NUMA node and a quarter of a GPU.

use std::{collections::BTreeMap, error::Error, io::Write, sync::Arc, sync::Mutex, thread, time::Duration};

use hq_engine::{Engine, EventKind, Job, LocalWorker, Request, Task};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // Resources are declared, so that this runs on any machine: 2 NUMA nodes of 8 cores and 2 GPUs, twice.
    let node = |name| LocalWorker::new("2x8").resource("gpus=[0,1]").name(name);
    let engine = Engine::builder().worker(node("node-a")).worker(node("node-b")).start().await?;

    let seen = Arc::new(Mutex::new(BTreeMap::<String, u32>::new()));
    let places = Arc::clone(&seen);
    let task = Task::call(move |ctx| {
        thread::sleep(Duration::from_millis(10));
        let place = format!("worker {}, cores {:?}, gpu {:?}", ctx.worker(), ctx.labels("cpus"), ctx.labels("gpus"));
        *places.lock().unwrap().entry(place).or_default() += 1;
    });
    let request = Request::parse(["cpus=2 compact!", "gpus=0.25"])?;
    let job = engine.submit(Job::array(0..1000, task.request(request)).name("quickstart")).await?;

    let (mut events, mut finished) = (job.events().await?, 0);
    while let Some(event) = events.next().await {
        if let EventKind::TasksFinished { tasks, .. } = event.kind {
            finished += tasks.len();
            print!("\r{finished} of 1000 finished");
            std::io::stdout().flush()?;
        }
    }
    println!();
    for (place, tasks) in &*seen.lock().unwrap() {
        println!("{tasks:>5} tasks: {place}");
    }
    println!("{}", job.report().await?);
    engine.shutdown().await?;
    Ok(())
}

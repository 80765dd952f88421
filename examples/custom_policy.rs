//! Policies of one's own: an order that prefers small jobs to come first, and a placement that spreads memory.

use std::{
    error::Error,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use hq_engine::{Engine, Job, LocalWorker, Request, Task};
use hq_scheduler::policy::{Order, PassRule, Placement, PlacementKey, QueueView, Rank, SlotView};

/// Whoever has the fewest tasks left goes first; arrival decides between equals.
#[derive(Debug)]
struct FewestLeft;

impl Order for FewestLeft {
    fn name(&self) -> &str {
        "fewest-left"
    }

    fn rank(&self, queue: &QueueView) -> Rank {
        (queue.waiting.cast_signed(), queue.head.0.cast_signed())
    }

    fn pass_rule(&self) -> PassRule {
        PassRule::Free
    }
}

/// The worker with the most free memory.
#[derive(Debug)]
struct MostMemory;

impl Placement for MostMemory {
    fn name(&self) -> &str {
        "most-memory"
    }

    fn key(&self, slot: &SlotView<'_>) -> PlacementKey {
        (-slot.free_of("mem").parts().cast_signed(), 0)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let node = |memory: u32| LocalWorker::cpus(2).resource(format!("mem=sum({memory})")).name(format!("mem{memory}"));
    let builder = Engine::builder().order(FewestLeft).placement(MostMemory).policy("fewest-left", "most-memory");
    let engine = builder.worker(node(64)).worker(node(128)).start().await?;

    let ends = Arc::new(Mutex::new(Vec::new()));
    let mut jobs = Vec::new();
    for (name, tasks, memory) in [("large", 60, "mem=1"), ("medium", 30, "mem=2"), ("small", 6, "mem=4")] {
        let task = Task::call(|_| thread::sleep(Duration::from_millis(5)));
        let request = Request::parse(["cpus=1", memory])?;
        let job = engine.submit(Job::array(0..tasks, task.request(request)).name(name)).await?;
        let ends = Arc::clone(&ends);
        jobs.push(tokio::spawn(async move {
            let report = job.wait().await.map(|_| ends.lock().unwrap().push(name));
            report.map(|()| job)
        }));
    }
    for job in jobs {
        let job = job.await??;
        println!("job {}: {}", job.id(), job.report().await?);
    }
    println!("they ended in this order: {}", ends.lock().unwrap().join(", "));
    engine.shutdown().await?;
    Ok(())
}

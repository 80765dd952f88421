//! Orders and placements of an embedder's own.

use std::sync::{Arc, Mutex, mpsc};

use hq_engine::{Engine, Job, LocalWorker, Task};
use hq_scheduler::policy::{Order, PassRule, Placement, PlacementKey, QueueView, Rank, SlotView};

/// The latest task first.
#[derive(Debug)]
struct Lifo;

impl Order for Lifo {
    fn name(&self) -> &str {
        "lifo"
    }

    fn rank(&self, queue: &QueueView) -> Rank {
        (-queue.head.0.cast_signed(), 0)
    }

    fn pass_rule(&self) -> PassRule {
        PassRule::Free
    }
}

/// The worker of the largest id first.
#[derive(Debug)]
struct Last;

impl Placement for Last {
    fn name(&self) -> &str {
        "last"
    }

    fn key(&self, slot: &SlotView<'_>) -> PlacementKey {
        (-i64::from(slot.worker.0), 0)
    }
}

#[tokio::test]
async fn an_order_of_ones_own_decides() {
    let builder = Engine::builder().order(Lifo).policy("lifo", "pack").worker(LocalWorker::cpus(1));
    let engine = builder.start().await.expect("start");
    let log = Arc::new(Mutex::new(vec![]));
    let (hold, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let wait = Task::call(move |_| assert!(gate.lock().unwrap().recv().is_err()));
    let first = engine.submit(wait).await.expect("submit");
    while first.info().await.expect("info").counts.running == 0 {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    let mut jobs = vec![];
    for n in 0..4 {
        let log = Arc::clone(&log);
        // Classes of their own: different priorities, of which this order knows nothing.
        jobs.push(engine.submit(Task::call(move |_| log.lock().unwrap().push(n)).priority(-n)).await.expect("submit"));
    }
    drop(hold);
    for job in jobs {
        assert!(job.await.expect("wait").is_success());
    }
    assert_eq!(*log.lock().unwrap(), [3, 2, 1, 0]);
    engine.shutdown().await.expect("shutdown");
}

#[tokio::test]
async fn a_placement_of_ones_own_decides() {
    let builder = (0..3).fold(Engine::builder(), |builder, _| builder.worker(LocalWorker::cpus(1)));
    let engine = builder.placement(Last).policy("priority", "last").start().await.expect("start");
    engine.call(hq_core::ClientRequest::WaitWorkers(3)).await.expect("workers");
    let log = Arc::new(Mutex::new(vec![]));
    let seen = Arc::clone(&log);
    let task = Task::call(move |ctx| seen.lock().unwrap().push(ctx.worker().0));
    for _ in 0..3 {
        assert!(engine.submit(Job::new().with(task.clone())).await.expect("submit").await.expect("wait").is_success());
    }
    assert_eq!(*log.lock().unwrap(), [3, 3, 3]);
    engine.shutdown().await.expect("shutdown");
}

//! Machines that come as tasks need them and go with the engine.

use std::{
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use hq_backend::{
    Allocation, AllocationId, AllocationRequest, AllocationStatus, AllocatorBackend, BackendError, BackendErrorKind,
    Capability, EndCause,
};
use hq_backend_local::LocalBackend;
use hq_core::{BatchJob, ClientReply, ClientRequest, Page, Selector};
use hq_engine::{AllocationQueue, Engine, EngineHandle, Job, LocalWorker, Request, Task};

/// Gives workers of the engine itself.
#[derive(Debug, Default)]
struct Rack {
    engine: OnceLock<EngineHandle>,
    given: Mutex<Vec<(String, u32)>>,
    canceled: Mutex<Vec<String>>,
    is_away: AtomicBool,
}

#[async_trait]
impl AllocatorBackend for Rack {
    fn name(&self) -> &str {
        "rack"
    }

    fn capability(&self) -> Capability {
        Capability { workers_max: 4, time_limit: false, find: true, validate: false, batch: false }
    }

    async fn submit(&self, request: &AllocationRequest) -> Result<AllocationId, BackendError> {
        if self.is_away.load(Ordering::Relaxed) {
            return Err(BackendError::new(BackendErrorKind::Rejected, "rack", "submit", "nobody is here"));
        }
        let id = format!("rack-{}", request.key);
        self.given.lock().unwrap().push((request.key.clone(), request.workers));
        for _ in 0..request.workers {
            let allocation = BatchJob { manager: "Rack".to_owned(), id: id.clone() };
            let worker = LocalWorker::cpus(2).allocation(allocation);
            self.engine.get().expect("set").add_worker(worker).await.expect("add");
        }
        Ok(AllocationId(id))
    }

    async fn status(&self, allocations: &[Allocation]) -> Vec<Result<AllocationStatus, BackendError>> {
        let canceled = self.canceled.lock().unwrap();
        let status = |allocation: &Allocation| match canceled.contains(&allocation.id.0) {
            true => AllocationStatus::ended(EndCause::Finished),
            false => AllocationStatus::Running { started: None },
        };
        allocations.iter().map(|allocation| Ok(status(allocation))).collect()
    }

    async fn cancel(&self, allocation: &Allocation) -> Result<(), BackendError> {
        self.canceled.lock().unwrap().push(allocation.id.0.clone());
        Ok(())
    }

    async fn find(&self, request: &AllocationRequest) -> Result<Option<AllocationId>, BackendError> {
        let given = self.given.lock().unwrap();
        Ok(given.iter().find(|(known, _)| *known == request.key).map(|(key, _)| AllocationId(format!("rack-{key}"))))
    }
}

fn queue(rack: &Arc<Rack>) -> AllocationQueue {
    AllocationQueue::new(Arc::clone(rack), LocalWorker::cpus(2)).backlog(2)
}

#[tokio::test(start_paused = true)]
async fn workers_come_as_tasks_need_them() {
    let rack = Arc::new(Rack::default());
    let engine = Engine::builder().allocator(queue(&rack).max_workers(3)).start().await.expect("start");
    rack.engine.set(engine.handle()).expect("once");
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(rack.given.lock().unwrap().is_empty(), "nobody waits");
    let task = Task::call_async(|_| async { tokio::time::sleep(Duration::from_millis(100)).await });
    let job = engine.submit(Job::array(0..40, task)).await.expect("submit");
    assert!(job.await.expect("wait").is_success());
    let given = rack.given.lock().unwrap().clone();
    assert_eq!(given.iter().map(|(_, workers)| workers).sum::<u32>(), 3, "{given:?}");
    engine.shutdown().await.expect("shutdown");
    let mut canceled = rack.canceled.lock().unwrap().clone();
    let mut expected: Vec<String> = given.iter().map(|(key, _)| format!("rack-{key}")).collect();
    canceled.sort();
    expected.sort();
    assert_eq!(canceled, expected, "what was asked for is given back");
}

#[tokio::test(start_paused = true)]
async fn what_no_such_worker_could_run_asks_for_nothing() {
    let rack = Arc::new(Rack::default());
    let engine = Engine::builder().allocator(queue(&rack)).start().await.expect("start");
    rack.engine.set(engine.handle()).expect("once");
    let task = Task::call(|_| ()).request(Request::cpus(3).expect("request"));
    engine.submit(task).await.expect("submit");
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(rack.given.lock().unwrap().is_empty());
    engine.shutdown().await.expect("shutdown");
}

#[tokio::test]
async fn a_refusal_is_tried_again() {
    let rack = Arc::new(Rack { is_away: AtomicBool::new(true), ..Rack::default() });
    let engine = Engine::builder().allocator(queue(&rack)).start().await.expect("start");
    rack.engine.set(engine.handle()).expect("once");
    let job = engine.submit(Task::call(|_| ())).await.expect("submit");
    tokio::time::sleep(Duration::from_millis(300)).await;
    rack.is_away.store(false, Ordering::Relaxed);
    assert!(job.await.expect("wait").is_success());
    engine.shutdown().await.expect("shutdown");
}

#[tokio::test]
async fn a_restart_asks_under_new_keys() {
    let dir = tempfile::tempdir().expect("dir");
    let (mut all, mut over) = (vec![], vec![]);
    for life in 1..=2 {
        let (given, canceled) = (Mutex::new(all), Mutex::new(over));
        let rack = Arc::new(Rack { given, canceled, ..Rack::default() });
        let builder = Engine::builder().journal(dir.path().join("journal")).allocator(queue(&rack));
        let engine = builder.start().await.expect("start");
        rack.engine.set(engine.handle()).expect("once");
        let job = engine.submit(Task::call(|_| ())).await.expect("submit");
        assert!(job.await.expect("wait").is_success(), "life {life}");
        engine.shutdown().await.expect("shutdown");
        let given = rack.given.lock().unwrap().clone();
        let keys: std::collections::BTreeSet<&String> = given.iter().map(|(key, _)| key).collect();
        assert_eq!((keys.len(), given.len()), (life, life), "a key is used once: {given:?}");
        (all, over) = (given, rack.canceled.lock().unwrap().clone());
    }
}

/// A process that is no worker: the local backend starts it, and ends it with the engine.
#[tokio::test]
async fn the_local_backend_starts_processes() {
    let dir = tempfile::tempdir().expect("dir");
    let file = dir.path().join("started");
    let script = format!("echo $$ > {} && exec sleep 1000", file.display());
    let queue = AllocationQueue::new(LocalBackend::processes(), LocalWorker::cpus(1)).command(["sh", "-c", &script]);
    let engine = Engine::builder().allocator(queue).start().await.expect("start");
    // A program, since closures of this process would not run there; no worker of the queue says that it runs others.
    engine.submit(Task::program("true")).await.expect("submit");
    let pid = loop {
        match std::fs::read_to_string(&file) {
            Ok(text) if text.ends_with('\n') => break text.trim().to_owned(),
            _ => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    };
    let ClientReply::Jobs(Page { items: jobs, .. }) =
        engine.call(ClientRequest::Jobs(Selector::All)).await.expect("jobs")
    else {
        panic!("jobs are expected")
    };
    assert_eq!(jobs[0].counts.waiting, 1);
    assert!(std::path::Path::new(&format!("/proc/{pid}")).exists());
    engine.shutdown().await.expect("shutdown");
    // It is killed by now, and dies as soon as it gets to it.
    let is_alive = || {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !state.is_empty() && !state.contains(") Z ")
    };
    for _ in 0..1000 {
        if !is_alive() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("process {pid} goes on");
}

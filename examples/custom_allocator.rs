//! An allocator of one's own: a rack of four machines that are switched on when tasks wait, and off at the end.

use std::{
    error::Error,
    sync::{Arc, Mutex, OnceLock},
    thread,
    time::Duration,
};

use async_trait::async_trait;
use hq_backend::{
    Allocation, AllocationId, AllocationRequest, AllocationStatus, AllocatorBackend, BackendError, BackendErrorKind,
    Capability, EndCause,
};
use hq_engine::{AllocationQueue, BatchJob, Engine, EngineHandle, Job, LocalWorker, Task};

/// Machines that are on, by the keys they were asked for under. A real one would talk to a cloud or a switch.
#[derive(Debug, Default)]
struct Rack {
    engine: OnceLock<EngineHandle>,
    on: Mutex<Vec<String>>,
}

#[async_trait]
impl AllocatorBackend for Rack {
    fn name(&self) -> &str {
        "rack"
    }

    fn capability(&self) -> Capability {
        Capability { workers_max: 1, time_limit: false, find: true, validate: false, batch: false }
    }

    async fn submit(&self, request: &AllocationRequest) -> Result<AllocationId, BackendError> {
        let failed = |message| BackendError::new(BackendErrorKind::Unavailable, "rack", "submit", message);
        println!("switching on a machine for {}", request.key);
        self.on.lock().unwrap().push(request.key.clone());
        // What arrives has to name its allocation, so that the engine does not wait for it any longer.
        let allocation = BatchJob { manager: "rack".into(), id: request.key.clone() };
        let worker = LocalWorker::cpus(2).name(&request.key).allocation(allocation);
        let engine = self.engine.get().ok_or_else(|| failed("the engine is not known yet".to_owned()))?;
        engine.add_worker(worker).await.map_err(|e| failed(e.to_string()))?;
        Ok(AllocationId(request.key.clone()))
    }

    async fn status(&self, allocations: &[Allocation]) -> Vec<Result<AllocationStatus, BackendError>> {
        let on = self.on.lock().unwrap();
        let status = |allocation: &Allocation| match on.contains(&allocation.id.0) {
            true => AllocationStatus::Running { started: None },
            false => AllocationStatus::ended(EndCause::Finished),
        };
        allocations.iter().map(|allocation| Ok(status(allocation))).collect()
    }

    async fn cancel(&self, allocation: &Allocation) -> Result<(), BackendError> {
        println!("switching off {}", allocation.id);
        self.on.lock().unwrap().retain(|key| *key != allocation.id.0);
        Ok(())
    }

    async fn find(&self, request: &AllocationRequest) -> Result<Option<AllocationId>, BackendError> {
        Ok(self.on.lock().unwrap().iter().find(|on| **on == request.key).map(|key| AllocationId(key.clone())))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let rack = Arc::new(Rack::default());
    let queue = AllocationQueue::new(Arc::clone(&rack), LocalWorker::cpus(2)).backlog(2).max_workers(4);
    let engine = Engine::builder().allocator(queue).start().await?;
    let _ = rack.engine.set(engine.handle());

    let task = Task::call(|_| thread::sleep(Duration::from_millis(50)));
    let job = engine.submit(Job::array(0..200, task)).await?;
    job.wait().await?;
    println!("{}", job.report().await?);
    engine.shutdown().await?;
    Ok(())
}

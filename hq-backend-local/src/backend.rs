use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use hq_backend::{
    Allocation, AllocationEnd, AllocationId, AllocationRequest, AllocationStatus, AllocatorBackend, BackendError,
    BackendErrorKind, Capability, EndCause,
};
use hq_core::BatchJob;

use crate::{ProcessSpawn, Spawn, WorkerStart, WorkerStop};

/// Name of the backend.
const NAME: &str = "local";
/// Name of the manager that its workers give.
const MANAGER: &str = "Local";
/// Allocations that ended are remembered, the latest ones.
const ENDED_MAX: usize = 1024;

/// Starts workers on this machine.
///
/// It knows only what it started itself: after a restart of the engine [`find`](AllocatorBackend::find) finds nothing.
/// Dropped, it leaves its workers alone.
pub struct LocalBackend {
    spawn: Box<dyn Spawn>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: u64,
    allocations: BTreeMap<u64, Local>,
}

struct Local {
    key: String,
    workers: Vec<Box<dyn WorkerStop>>,
    /// What went wrong with a worker that has ended.
    error: Option<String>,
}

impl LocalBackend {
    /// Workers start in this way.
    pub fn new(spawn: impl Spawn + 'static) -> Self {
        Self { spawn: Box::new(spawn), state: Mutex::default() }
    }

    /// Workers start as processes, by the command of the request.
    pub fn processes() -> Self {
        Self::new(ProcessSpawn::new())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in here leaves the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl AllocatorBackend for LocalBackend {
    fn name(&self) -> &str {
        NAME
    }

    fn capability(&self) -> Capability {
        Capability { workers_max: 1024, time_limit: false, find: false, validate: false, batch: false }
    }

    async fn submit(&self, request: &AllocationRequest) -> Result<AllocationId, BackendError> {
        let error = |kind, message: String| BackendError::new(kind, NAME, "submit", message);
        if request.workers == 0 || request.workers > self.capability().workers_max {
            let message = format!("{} workers were asked for, 1 to 1024 are possible", request.workers);
            return Err(error(BackendErrorKind::Unsupported, message));
        }
        let mut state = self.state();
        let n = state.last + 1;
        let allocation = BatchJob { manager: MANAGER.to_owned(), id: id(n) };
        let request = Arc::new(request.clone());
        let mut workers = Vec::new();
        for number in 0..request.workers {
            let start = WorkerStart { request: Arc::clone(&request), allocation: allocation.clone(), number };
            match self.spawn.spawn(start) {
                Ok(worker) => workers.push(worker),
                Err(e) => {
                    // All or none, so that a failed request can be made again.
                    workers.iter_mut().for_each(|worker| worker.stop());
                    let kind = if e.is_temporary { BackendErrorKind::Unavailable } else { BackendErrorKind::Rejected };
                    return Err(error(kind, e.message));
                }
            }
        }
        state.last = n;
        state.allocations.insert(n, Local { key: request.key.clone(), workers, error: None });
        state.forget_old();
        Ok(AllocationId(allocation.id))
    }

    async fn status(&self, allocations: &[Allocation]) -> Vec<Result<AllocationStatus, BackendError>> {
        let mut state = self.state();
        let unknown = AllocationStatus::ended(EndCause::Unknown);
        allocations.iter().map(|a| Ok(state.get(&a.id).map_or_else(|| unknown.clone(), Local::status))).collect()
    }

    async fn cancel(&self, allocation: &Allocation) -> Result<(), BackendError> {
        if let Some(local) = self.state().get(&allocation.id) {
            local.workers.iter_mut().for_each(|worker| worker.stop());
        }
        Ok(())
    }

    async fn find(&self, request: &AllocationRequest) -> Result<Option<AllocationId>, BackendError> {
        let state = self.state();
        let found = state.allocations.iter().find(|(_, local)| local.key == request.key);
        Ok(found.map(|(n, _)| AllocationId(id(*n))))
    }
}

/// Ids of different processes differ, since they outlive a process in the engine's journal.
fn id(n: u64) -> String {
    format!("{}-{n}", std::process::id())
}

impl State {
    fn get(&mut self, id: &AllocationId) -> Option<&mut Local> {
        let (process, n) = id.0.split_once('-')?;
        let is_ours = process.parse() == Ok(std::process::id());
        self.allocations.get_mut(&n.parse().ok().filter(|_| is_ours)?)
    }

    fn forget_old(&mut self) {
        let ended: Vec<u64> =
            self.allocations.iter_mut().filter_map(|(n, local)| local.has_ended().then_some(*n)).collect();
        for n in ended.iter().rev().skip(ENDED_MAX) {
            self.allocations.remove(n);
        }
    }
}

impl Local {
    fn has_ended(&mut self) -> bool {
        let error = &mut self.error;
        self.workers.retain_mut(|worker| match worker.ended() {
            None => true,
            Some(problem) => {
                *error = error.take().or(problem);
                false
            }
        });
        self.workers.is_empty()
    }

    fn status(&mut self) -> AllocationStatus {
        if !self.has_ended() {
            return AllocationStatus::Running { started: None };
        }
        let cause = if self.error.is_some() { EndCause::Failed } else { EndCause::Finished };
        let ended = AllocationEnd { error: self.error.clone(), started: None, ended: None, may_return: false, cause };
        AllocationStatus::Ended(ended)
    }
}

impl fmt::Debug for LocalBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalBackend").field("spawn", &self.spawn).finish_non_exhaustive()
    }
}

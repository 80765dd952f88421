use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use hq_backend::{
    Allocation, AllocationDir, AllocationEnd, AllocationId, AllocationRequest, AllocationStatus, AllocatorBackend,
    BackendError, BackendErrorKind, trial,
};
use hq_core::{QueueId, QueueSpec};
use hq_node::{BackendNews, BackendOrder};
use hq_scheduler::autoscale::{Asked, ScaleNews, ScaleOrder, ScaleStatus, Told};
use tokio::{task::JoinSet, time::timeout};

use super::request::{BatchWorkers, Wanted, request};

/// No call of a backend takes longer: its commands have limits of their own, and this one is for those that have not.
const CALL_MAX: Duration = Duration::from_secs(180);

/// The allocators, by name, and what they are being asked.
#[derive(Debug, Default)]
pub(crate) struct Backends {
    by_name: BTreeMap<String, Arc<dyn AllocatorBackend>>,
    how: Option<BatchWorkers>,
    /// The directory that workers find the server by.
    home: Option<String>,
    calls: JoinSet<Option<BackendNews>>,
}

impl Backends {
    pub(crate) fn new(by_name: BTreeMap<String, Arc<dyn AllocatorBackend>>, how: Option<BatchWorkers>) -> Self {
        Self { by_name, how, home: None, calls: JoinSet::new() }
    }

    /// Whether workers find the server only when it serves.
    pub(crate) const fn need_home(&self) -> bool {
        self.how.is_some()
    }

    /// Workers find the server by this directory.
    pub(crate) fn set_home(&mut self, home: &Path) {
        self.home = Some(home.to_string_lossy().into_owned());
    }

    /// The next answer; for ever where nothing is asked.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub(crate) async fn next(&mut self) -> BackendNews {
        loop {
            match self.calls.join_next().await {
                Some(Ok(Some(news))) => return news,
                Some(_) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// Lets go of all calls.
    pub(crate) async fn end(mut self) {
        self.calls.shutdown().await;
    }

    /// Asks; all questions are asked at the same time.
    pub(crate) fn ask(&mut self, order: BackendOrder) {
        match order {
            BackendOrder::Try { token, spec } => self.try_out(token, &spec),
            BackendOrder::Scale(ScaleOrder::Submit { queue, spec, key, number, workers, dir }) => {
                let wanted = Wanted { queue, spec: &spec, key: key.clone(), number, workers, dir };
                let asked = self.prepare(wanted);
                self.call(queue, async move {
                    match asked {
                        Err(error) => Told::Refused { key, error },
                        Ok((backend, request)) => submit(&*backend, &request, key).await,
                    }
                });
            }
            BackendOrder::Scale(ScaleOrder::Find { queue, spec, key, number, workers, dir }) => {
                let wanted = Wanted { queue, spec: &spec, key: key.clone(), number, workers, dir };
                let asked = self.prepare(wanted);
                self.call(queue, async move {
                    match asked {
                        Err(error) => Told::Refused { key, error },
                        Ok((backend, request)) => find(&*backend, &request, key).await,
                    }
                });
            }
            BackendOrder::Scale(ScaleOrder::Status { queue, spec, allocations }) => {
                let backend = self.backend(&spec);
                self.call(queue, async move { Told::Status(status(backend, allocations).await) });
            }
            BackendOrder::Scale(ScaleOrder::Cancel { queue, spec, allocation }) => {
                let backend = self.backend(&spec);
                self.call(queue, async move {
                    let key = allocation.key.clone();
                    let error = match backend {
                        Err(error) => Some(error),
                        Ok(backend) => match timeout(CALL_MAX, backend.cancel(&known(allocation))).await {
                            Ok(result) => result.err().map(|e| e.to_string()),
                            Err(_) => Some(slow(&*backend, "cancel")),
                        },
                    };
                    Told::Canceled { key, error }
                });
            }
            BackendOrder::Scale(ScaleOrder::Probe { queue, spec }) => {
                let asked = self.prepare(self.sample(queue, &spec, "probe"));
                self.call(queue, async move { Told::Probed { error: probe(asked).await } });
            }
            BackendOrder::Scale(ScaleOrder::Discard { dir, .. }) => {
                self.calls.spawn_blocking(move || {
                    if let Err(e) = std::fs::remove_dir_all(&dir)
                        && e.kind() != std::io::ErrorKind::NotFound
                    {
                        tracing::warn!("cannot remove {dir:?} of a submission that failed: {e}");
                    }
                    None
                });
            }
        }
    }

    fn call(&mut self, queue: QueueId, told: impl Future<Output = Told> + Send + 'static) {
        self.calls.spawn(async move { Some(BackendNews::Scale(ScaleNews { queue, told: told.await })) });
    }

    /// # Errors
    /// There is none of that name.
    fn backend(&self, spec: &QueueSpec) -> Result<Arc<dyn AllocatorBackend>, String> {
        self.by_name.get(&spec.backend).cloned().ok_or_else(|| {
            let known: Vec<&str> = self.by_name.keys().map(String::as_str).collect();
            format!("there is no allocator `{}`; known: {}", spec.backend, known.join(", "))
        })
    }

    /// # Errors
    /// There is no such backend, or it cannot be told so.
    fn prepare(&self, wanted: Wanted<'_>) -> Result<(Arc<dyn AllocatorBackend>, AllocationRequest), String> {
        let backend = self.backend(wanted.spec)?;
        let needs_dir = backend.capability().batch;
        let wanted = Wanted { dir: wanted.dir.filter(|_| needs_dir), ..wanted };
        let request = request(wanted, self.how.as_ref(), self.home.as_deref()).map_err(|e| e.to_string())?;
        Ok((backend, request))
    }

    /// The largest allocation of a queue, in a directory of its own that does not last.
    fn sample<'a>(&self, queue: QueueId, spec: &'a QueueSpec, what: &str) -> Wanted<'a> {
        let dir = std::env::temp_dir().join(format!("hq-{what}-{}-{}", std::process::id(), unique()));
        Wanted {
            queue,
            spec,
            key: format!("{what}-{}", unique()),
            number: 1,
            workers: spec.workers_per_allocation,
            dir: Some(dir.to_string_lossy().into_owned()),
        }
    }

    fn try_out(&mut self, token: u64, spec: &QueueSpec) {
        let asked = self.prepare(self.sample(QueueId(0), spec, "autoalloc"));
        self.calls.spawn(async move {
            let error = match asked {
                Err(error) => Some(format!("Could not submit allocation: {error}")),
                Ok((backend, request)) => try_once(&*backend, request).await,
            };
            Some(BackendNews::Tried { token, error })
        });
    }
}

fn unique() -> String {
    let mut bytes = [0; 6];
    // Two trials at a time would share a directory, and the second one be refused.
    let _ = getrandom::fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn submit(backend: &dyn AllocatorBackend, request: &AllocationRequest, key: String) -> Told {
    let may_find = backend.capability().find;
    match timeout(CALL_MAX, backend.submit(request)).await {
        Ok(Ok(id)) => Told::Has { key, id: id.0 },
        Ok(Err(e)) if e.is_in_doubt && may_find => Told::Unsure { key, error: e.to_string() },
        Ok(Err(e)) => Told::Refused { key, error: e.to_string() },
        Err(_) if may_find => Told::Unsure { key, error: slow(backend, "submit") },
        Err(_) => Told::Refused { key, error: slow(backend, "submit") },
    }
}

async fn find(backend: &dyn AllocatorBackend, request: &AllocationRequest, key: String) -> Told {
    match timeout(CALL_MAX, backend.find(request)).await {
        Ok(Ok(Some(id))) => Told::Has { key, id: id.0 },
        Ok(Ok(None)) if backend.capability().find => Told::Missing { key },
        Ok(Ok(None)) => {
            let error =
                format!("the fate of an allocation is not known, and allocator `{}` cannot tell", backend.name());
            Told::Refused { key, error }
        }
        Ok(Err(e)) if e.kind == BackendErrorKind::Unsupported => Told::Refused { key, error: e.to_string() },
        Ok(Err(e)) => Told::Unsure { key, error: e.to_string() },
        Err(_) => Told::Unsure { key, error: slow(backend, "find") },
    }
}

type Statuses = Vec<(String, Result<ScaleStatus, String>)>;

async fn status(backend: Result<Arc<dyn AllocatorBackend>, String>, asked: Vec<Asked>) -> Statuses {
    let keys: Vec<String> = asked.iter().map(|asked| asked.key.clone()).collect();
    let all = |error: String| keys.iter().map(|key| (key.clone(), Err(error.clone()))).collect();
    let backend = match backend {
        Ok(backend) => backend,
        Err(error) => return all(error),
    };
    let allocations: Vec<Allocation> = asked.into_iter().map(known).collect();
    match timeout(CALL_MAX, backend.status(&allocations)).await {
        Ok(states) => {
            let told = |state: Result<AllocationStatus, BackendError>| state.map(seen).map_err(|e| e.to_string());
            keys.into_iter().zip(states.into_iter().map(told)).collect()
        }
        Err(_) => all(slow(&*backend, "status")),
    }
}

fn seen(status: AllocationStatus) -> ScaleStatus {
    match status {
        AllocationStatus::Queued { .. } | AllocationStatus::Unclear { .. } => ScaleStatus::Queued,
        AllocationStatus::Running { .. } => ScaleStatus::Running,
        // The manager queues it again under the same name: another one would be one too many.
        AllocationStatus::Ended(end) if end.may_return => ScaleStatus::Queued,
        AllocationStatus::Ended(end) => ScaleStatus::Ended { error: failure(end) },
    }
}

fn failure(end: AllocationEnd) -> Option<String> {
    end.cause.is_failure().then(|| end.error.unwrap_or_else(|| format!("it ended: {:?}", end.cause).to_lowercase()))
}

/// Why the next submission would not be taken. Where nothing but a submission could tell, it is worth one.
async fn probe(asked: Result<(Arc<dyn AllocatorBackend>, AllocationRequest), String>) -> Option<String> {
    let (backend, request) = match asked {
        Ok(asked) => asked,
        Err(error) => return Some(error),
    };
    if !backend.capability().validate {
        return None;
    }
    let answer = timeout(CALL_MAX, backend.validate(&request)).await;
    if let Some(batch) = &request.batch {
        let _ = std::fs::remove_dir_all(&batch.directory);
    }
    match answer {
        Ok(Ok(_)) => None,
        Ok(Err(e)) if e.kind == BackendErrorKind::Unsupported => None,
        Ok(Err(e)) => Some(e.to_string()),
        Err(_) => Some(slow(&*backend, "validate")),
    }
}

async fn try_once(backend: &dyn AllocatorBackend, request: AllocationRequest) -> Option<String> {
    let dir = request.batch.as_ref().map(|batch| batch.directory.clone());
    let kept =
        dir.as_deref().map(|dir| format!("\nIts files are kept in {}", AllocationDir::open(dir).path().display()));
    match timeout(CALL_MAX, trial(backend, request)).await {
        Ok(Ok(_)) => {
            if let Some(dir) = dir {
                let _ = std::fs::remove_dir_all(dir);
            }
            None
        }
        Ok(Err(e)) => Some(format!("{e}{}", kept.unwrap_or_default())),
        Err(_) => Some(format!("Could not submit allocation: {}", slow(backend, "submit"))),
    }
}

fn slow(backend: &dyn AllocatorBackend, operation: &str) -> String {
    format!("allocator `{}` could not {operation}: no answer within {} s", backend.name(), CALL_MAX.as_secs())
}

fn known(asked: Asked) -> Allocation {
    Allocation { id: AllocationId(asked.id), key: asked.key, directory: asked.dir.map(Into::into) }
}

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use hq_core::{BatchJob, PROGRAM_KIND, ResourceDef, WorkerConfig, WorkerResources};
use hq_worker::{ClosureThreads, Runners, TaskRunner, WorkerOptions, run_worker};
use tokio::runtime::Handle;

use crate::{
    StartError,
    closures::{CLOSURE_KIND, ClosureRunner, Closures},
    driver::WorkerTask,
    function::{Recipe, Site},
    programs::Programs,
};

/// Closures that run at a time in one engine, at most; more wait for a thread.
const THREADS_MAX: usize = 1024;

/// A worker inside the engine's process. Its resources are declared, not detected: it may offer what the machine has
/// not, e.g. to try things out.
#[derive(Clone, Debug)]
pub struct LocalWorker {
    name: String,
    group: String,
    cpus: String,
    resources: Vec<String>,
    coupling: Option<String>,
    time_limit: Option<Duration>,
    idle_timeout: Option<Duration>,
    allocation: Option<BatchJob>,
}

impl LocalWorker {
    /// A worker with `n` cpus.
    pub fn cpus(n: u32) -> Self {
        Self::new(n.to_string())
    }

    /// A worker with these cpus, e.g. `8`, `2x8` (two NUMA nodes), `[[0,1],[2,3]]`.
    pub fn new(cpus: impl Into<String>) -> Self {
        Self {
            name: "local".to_owned(),
            group: "default".to_owned(),
            cpus: cpus.into(),
            resources: vec![],
            coupling: None,
            time_limit: None,
            idle_timeout: None,
            allocation: None,
        }
    }

    /// One more resource, e.g. `gpus=[0,1,2,3]`, `mem=sum(1024)`, `nics=2x2`.
    #[must_use]
    pub fn resource(mut self, definition: impl Into<String>) -> Self {
        self.resources.push(definition.into());
        self
    }

    /// Which groups of its resources lie close to each other, e.g. `cpus[0]:gpus[0],cpus[1]:gpus[1]`: tasks that use both get
    /// indices of both.
    #[must_use]
    pub fn coupling(mut self, items: impl Into<String>) -> Self {
        self.coupling = Some(items.into());
        self
    }

    /// Shown to people in place of `local`.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Tasks on several workers use workers of one group; `default` where nothing is said.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.group = group.into();
        self
    }

    /// It ends by itself after that long.
    #[must_use]
    pub const fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// It ends after having nothing to do for that long.
    #[must_use]
    pub const fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = Some(timeout);
        self
    }

    /// The allocation it belongs to.
    #[must_use]
    pub fn allocation(mut self, allocation: BatchJob) -> Self {
        self.allocation = Some(allocation);
        self
    }

    pub(crate) fn config(&self) -> Result<WorkerConfig, StartError> {
        let mut defs = vec![ResourceDef::parse_cpus(&self.cpus)?];
        for text in &self.resources {
            defs.push(ResourceDef::parse(text)?);
        }
        let mut resources = WorkerResources::new(defs, vec![])?;
        if let Some(items) = &self.coupling {
            resources = resources.with_coupling(items)?;
        }
        let mut config = WorkerConfig::new(&self.name, resources);
        config.group.clone_from(&self.group);
        config.time_limit = self.time_limit.map(Into::into);
        config.idle_timeout = self.idle_timeout.map(Into::into);
        config.allocation.clone_from(&self.allocation);
        config.pid = std::process::id();
        Ok(config)
    }

    pub(crate) fn task(&self, place: &Arc<Place>) -> Result<WorkerTask, StartError> {
        let config = self.config()?;
        let runners = place.runners(Arc::new(config.resources.clone()));
        Ok(WorkerTask(Box::new(move |link| {
            Box::pin(async move {
                let exit = run_worker(WorkerOptions::new(config, link, runners)).await;
                tracing::debug!("a worker of this process has ended: {exit:?}");
            })
        })))
    }
}

/// What the workers of an engine's process share.
pub(crate) struct Place {
    pub(crate) closures: Arc<Closures>,
    registered: BTreeMap<String, Recipe>,
    runtime: Handle,
    threads: ClosureThreads,
    last: AtomicU64,
}

impl Place {
    pub(crate) fn new(closures: Arc<Closures>, registered: BTreeMap<String, Recipe>, runtime: Handle) -> Self {
        Self { closures, registered, runtime, threads: ClosureThreads::new(THREADS_MAX), last: AtomicU64::new(0) }
    }

    /// What a worker of this process runs, besides programs.
    pub(crate) fn kinds(&self) -> Vec<String> {
        self.registered.keys().cloned().chain([CLOSURE_KIND.to_owned()]).collect()
    }

    /// What a new worker can run.
    fn runners(&self, resources: Arc<WorkerResources>) -> Runners {
        let site = Site {
            id: self.last.fetch_add(1, Ordering::Relaxed),
            threads: self.threads.clone(),
            runtime: self.runtime.clone(),
            resources: Arc::clone(&resources),
        };
        let named =
            self.registered.iter().fold(Runners::new(), |runners, (name, recipe)| runners.with(name, recipe(&site)));
        let closures: Arc<dyn TaskRunner> = Arc::new(ClosureRunner::new(Arc::clone(&self.closures), site));
        named.with(CLOSURE_KIND, closures).with(PROGRAM_KIND, Arc::new(Programs::new(resources)))
    }
}

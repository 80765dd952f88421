use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use hq_core::{Amount, Instance, JobId, RunId, TaskNumber, WorkerId, WorkerResources};
use hq_node::StartOrder;

/// What a closure or async function knows of the run it carries out.
#[derive(Clone)]
pub struct TaskContext {
    order: Arc<StartOrder>,
    resources: Arc<WorkerResources>,
    stopped: Arc<AtomicBool>,
}

impl TaskContext {
    pub(super) fn new(order: StartOrder, resources: Arc<WorkerResources>) -> Self {
        Self { order: Arc::new(order), resources, stopped: Arc::default() }
    }

    /// The run inside the engine.
    pub fn run(&self) -> RunId {
        self.order.run
    }

    /// The job.
    pub fn job(&self) -> JobId {
        self.order.job
    }

    /// The task's number in its job.
    pub fn number(&self) -> TaskNumber {
        self.order.number
    }

    /// Which run of the task this is, from 0.
    pub fn instance(&self) -> Instance {
        self.order.instance
    }

    /// The worker.
    pub fn worker(&self) -> WorkerId {
        self.order.worker
    }

    /// The part of the body that all tasks of the submit share.
    pub fn shared(&self) -> &[u8] {
        &self.order.body.shared
    }

    /// The task's own part of the body; empty where it has none.
    pub fn part(&self) -> &[u8] {
        &self.order.part
    }

    /// Which variant of its request was granted, from 0.
    pub fn variant(&self) -> u8 {
        self.order.lane.variant
    }

    /// For a gang: the hosts, the main one first.
    pub fn hosts(&self) -> &[String] {
        &self.order.lane.hosts
    }

    /// How much it got of a resource; zero where it did not ask.
    pub fn amount(&self, resource: &str) -> Amount {
        let granted = self.order.lane.allocation.0.iter().find(|granted| granted.resource.as_str() == resource);
        granted.map_or(Amount::ZERO, |granted| granted.amount)
    }

    /// The labels of the indices it got of a resource, a partial one last. Empty for a sum, and where it did not ask.
    pub fn labels(&self, resource: &str) -> Vec<String> {
        let granted = self.order.lane.allocation.0.iter().find(|granted| granted.resource.as_str() == resource);
        granted.map_or_else(Vec::new, |granted| crate::labels::of(granted, &self.resources))
    }

    /// Whether the run has been told to end. Long closures ask now and then and return; nothing can end them otherwise.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    pub(super) fn set_stopped(&self) {
        self.stopped.store(true, Ordering::Release);
    }
}

impl fmt::Debug for TaskContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskContext").field("run", &self.order.run).finish_non_exhaustive()
    }
}

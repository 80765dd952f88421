//! What can be seen of the core's state, without changing it.

use std::sync::Arc;

use hq_core::{
    Instance, JobId, JobSpec, LossReason, Ordinal, OrdinalRange, Submit, TaskCounts, TaskNumber, TaskState, Tick,
    WorkerConfig, WorkerId, WorkerRuntime,
};

/// A job.
#[derive(Clone, Debug)]
pub struct JobView<'a> {
    /// Its id.
    pub id: JobId,
    /// Name and `max_fails`.
    pub spec: &'a JobSpec,
    /// Whether more tasks may come.
    pub is_open: bool,
    /// Whether it ends with the client that made it.
    pub is_bound: bool,
    /// Tasks by state.
    pub counts: TaskCounts,
    /// Reason of the latest cancel that had one.
    pub cancel_reason: Option<&'a str>,
    /// When it was made.
    pub created: Tick,
    /// When its last task ended, if all have.
    pub ended: Option<Tick>,
    /// Its submits, in order: ordinal of the first task, all of it, and when it came.
    pub submits: Vec<(Ordinal, &'a Arc<Submit>, Tick)>,
}

impl JobView<'_> {
    /// Closed, and no task waits or runs.
    pub const fn is_completed(&self) -> bool {
        !self.is_open && self.counts.is_terminated()
    }
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskView<'a> {
    /// Where it is in its life.
    pub state: TaskState,
    /// Number of its latest run.
    pub instance: Instance,
    /// The variant of its latest run.
    pub variant: u8,
    /// Where it runs or ran last; main worker first.
    pub workers: Vec<WorkerId>,
    /// Start of its latest run.
    pub started: Option<Tick>,
    /// Its end.
    pub ended: Option<Tick>,
    /// Why it failed.
    pub error: Option<&'a str>,
    /// Where it waits for a moment to be run again.
    pub delay: Option<DelayView<'a>>,
}

/// A task that did not end well and is to be run again, but not yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayView<'a> {
    /// Not before then.
    pub until: Tick,
    /// How often its rules have let it run again.
    pub retries: u32,
    /// How its last run ended.
    pub error: &'a str,
}

/// Neighbouring tasks of one submit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskPiece {
    /// One that has a record: started at least once, or failed.
    Recorded(Ordinal),
    /// Some that have none, and their state.
    Bare(TaskState, OrdinalRange),
}

/// A worker.
#[derive(Clone, Debug)]
pub struct WorkerView<'a> {
    /// Its id.
    pub id: WorkerId,
    /// What it says of itself.
    pub config: &'a Arc<WorkerConfig>,
    /// When it came.
    pub joined: Tick,
    /// When it went, and why.
    pub lost: Option<(Tick, LossReason)>,
    /// What it does; none once it is gone.
    pub runtime: Option<WorkerRuntime>,
    /// The task that started last, and when.
    pub last_task: Option<(JobId, TaskNumber, Tick)>,
}

use hq_core::{
    AllocationInfo, HardwareState, JobDetail, JobId, JobInfo, QueueId, QueueInfo, TaskCounts, TaskInfo, TaskNumber,
    WallTime, WorkerId, WorkerInfo,
};

use super::Tab;

/// What is looked at, and so what is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    /// The moment; none: now.
    pub(crate) at: Option<WallTime>,
    /// The page.
    pub(crate) tab: Tab,
    /// The job in detail.
    pub(crate) job: Option<JobId>,
    /// Its tasks from this one to that one.
    pub(crate) tasks: (TaskNumber, TaskNumber),
    /// The worker in detail.
    pub(crate) worker: Option<WorkerId>,
    /// The queue in detail.
    pub(crate) queue: Option<QueueId>,
}

/// Something seen.
#[derive(Clone, Debug)]
pub(crate) struct News {
    /// The moment that it shows; none: now.
    pub(crate) of: Option<WallTime>,
    /// What.
    pub(crate) sight: Sight,
}

/// What is seen.
#[derive(Clone, Debug)]
pub(crate) enum Sight {
    /// Lines of jobs: all there are, or those that changed.
    Jobs {
        /// When they were looked at.
        at: WallTime,
        /// No job is there but these.
        whole: bool,
        /// The lines.
        lines: Vec<JobInfo>,
        /// Jobs that are there no more.
        gone: Vec<JobId>,
    },
    /// A job with all its submits and some of its tasks.
    Job(Box<JobDetail>),
    /// All workers.
    Workers(Vec<WorkerInfo>),
    /// Tasks that run on a worker: the first ones.
    Running {
        /// The worker.
        worker: WorkerId,
        /// The tasks.
        tasks: Vec<RunningTask>,
    },
    /// A worker's machine.
    Hardware(WorkerId, Box<HardwareState>),
    /// All queues of allocations.
    Queues(Vec<QueueInfo>),
    /// A queue was made, or removed.
    QueueChanged {
        /// The queue.
        queue: QueueId,
        /// When.
        at: WallTime,
        /// Removed.
        removed: bool,
    },
    /// Allocations of a queue.
    Allocations(QueueId, Vec<AllocationInfo>),
    /// How jobs were, for their curves.
    Sample(Vec<(WallTime, JobId, TaskCounts)>),
    /// The past reaches from the first moment to the second.
    Reach(WallTime, WallTime),
    /// Something to say to the user; empty: no more.
    Message(String),
}

/// A task that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunningTask {
    /// Its job.
    pub(crate) job: JobId,
    /// The task.
    pub(crate) info: TaskInfo,
}

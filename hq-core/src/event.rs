//! The feed of what happened, for people and programs that watch.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    HardwareState, IdList, Instance, JobId, JobSpec, LossReason, QueueId, QueueSpec, Seq, Submit, TaskNumber, WallTime,
    WorkerConfig, WorkerId,
};

/// Something that happened and is durable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Journal sequence of the fact it tells of. Several events may share one; the order is that of the feed.
    pub seq: Seq,
    /// When.
    pub at: WallTime,
    /// What.
    pub kind: EventKind,
}

/// What an event tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventKind {
    /// The server began a new life.
    ServerStarted {
        /// Kept over restarts.
        server_uid: String,
    },
    /// A worker came.
    WorkerConnected {
        /// Its id.
        worker: WorkerId,
        /// What it says of itself.
        config: Arc<WorkerConfig>,
    },
    /// A worker is gone.
    WorkerLost {
        /// Its id.
        worker: WorkerId,
        /// Why.
        reason: LossReason,
    },
    /// An open job was made.
    JobOpened {
        /// The job.
        job: JobId,
        /// What it is.
        spec: JobSpec,
    },
    /// Tasks came.
    JobSubmitted {
        /// Their job.
        job: JobId,
        /// Name and `max_fails`, where the submit made the job.
        spec: Option<JobSpec>,
        /// How many.
        tasks: u64,
        /// The submit with no dependencies, and of what each task has for itself, body and profile, only the first. A
        /// server leaves out a body of more than 64 KiB; the journal has it.
        submit: Arc<Submit>,
    },
    /// An open job was closed.
    JobClosed {
        /// The job.
        job: JobId,
    },
    /// A user cancelled tasks of a job.
    JobCanceled {
        /// The job.
        job: JobId,
        /// The user's reason.
        reason: Option<String>,
    },
    /// All tasks of a closed job have ended.
    JobCompleted {
        /// The job.
        job: JobId,
    },
    /// A task runs. Tasks that start and end between two reports of their worker have no such event.
    TaskStarted {
        /// Its job.
        job: JobId,
        /// Its number.
        task: TaskNumber,
        /// Which run.
        instance: Instance,
        /// The variant granted.
        variant: u8,
        /// Where; the main worker first.
        workers: Vec<WorkerId>,
    },
    /// Tasks of one job on one worker ended well.
    TasksFinished {
        /// Their job.
        job: JobId,
        /// The worker; of a gang all of them, the main one first.
        workers: Vec<WorkerId>,
        /// The variant granted.
        variant: u8,
        /// Which, and when.
        tasks: Vec<FinishedTask>,
    },
    /// A task ended badly.
    TaskFailed {
        /// Its job.
        job: JobId,
        /// Its number.
        task: TaskNumber,
        /// Why.
        error: String,
        /// The run that failed; none where it was not running: it was lost with its worker too often.
        run: Option<FailedRun>,
    },
    /// Tasks were cancelled.
    TasksCanceled {
        /// Their job.
        job: JobId,
        /// Which, as runs of numbers.
        tasks: IdList,
    },
    /// Tasks will not run because of others.
    TasksAborted {
        /// Their job.
        job: JobId,
        /// Which, as runs of numbers.
        tasks: IdList,
    },
    /// A task says something. Not kept in a journal.
    TaskNotify {
        /// Its job.
        job: JobId,
        /// Its number.
        task: TaskNumber,
        /// Where it runs.
        worker: WorkerId,
        /// What it says.
        message: String,
    },
    /// A worker looked at its machine.
    WorkerOverview {
        /// The worker.
        worker: WorkerId,
        /// What it saw.
        state: Box<HardwareState>,
    },
    /// A queue of allocations was made.
    QueueCreated {
        /// Its id.
        queue: QueueId,
        /// How it asks.
        spec: Arc<QueueSpec>,
    },
    /// A queue of allocations is gone.
    QueueRemoved {
        /// Its id.
        queue: QueueId,
    },
    /// A backend took the request for an allocation.
    AllocationQueued {
        /// The queue.
        queue: QueueId,
        /// The backend's name for it.
        allocation: String,
        /// Workers that were asked for.
        workers: u32,
    },
    /// An allocation has begun.
    AllocationStarted {
        /// The queue.
        queue: QueueId,
        /// The backend's name for it.
        allocation: String,
    },
    /// An allocation is over.
    AllocationFinished {
        /// The queue.
        queue: QueueId,
        /// The backend's name for it.
        allocation: String,
    },
    /// A run did not end well, and its task is run again.
    TaskRetried {
        /// Its job.
        job: JobId,
        /// Its number.
        task: TaskNumber,
        /// How the run ended.
        error: String,
        /// The run; none where its worker was lost.
        run: Option<FailedRun>,
        /// Not before then.
        until: WallTime,
    },
}

/// A run that ended badly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedRun {
    /// Which run.
    pub instance: Instance,
    /// The variant granted.
    pub variant: u8,
    /// Where; the main worker first.
    pub workers: Vec<WorkerId>,
    /// Its start.
    pub started: WallTime,
}

/// A task that ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedTask {
    /// Its number.
    pub task: TaskNumber,
    /// Which run.
    pub instance: Instance,
    /// Its start.
    pub started: WallTime,
    /// Its end.
    pub ended: WallTime,
}

impl EventKind {
    /// The job it is about.
    pub const fn job(&self) -> Option<JobId> {
        match self {
            Self::ServerStarted { .. }
            | Self::WorkerConnected { .. }
            | Self::WorkerLost { .. }
            | Self::WorkerOverview { .. }
            | Self::QueueCreated { .. }
            | Self::QueueRemoved { .. }
            | Self::AllocationQueued { .. }
            | Self::AllocationStarted { .. }
            | Self::AllocationFinished { .. } => None,
            Self::JobOpened { job, .. }
            | Self::JobSubmitted { job, .. }
            | Self::JobClosed { job }
            | Self::JobCanceled { job, .. }
            | Self::JobCompleted { job }
            | Self::TaskStarted { job, .. }
            | Self::TasksFinished { job, .. }
            | Self::TaskFailed { job, .. }
            | Self::TaskRetried { job, .. }
            | Self::TasksCanceled { job, .. }
            | Self::TasksAborted { job, .. }
            | Self::TaskNotify { job, .. } => Some(*job),
        }
    }
}

//! What clients ask a server, and what it answers, as plain data. Client and server have exactly the same version.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{
    AllocationInfo, Blob, Channel, DetailPage, DetailPart, Event, Explanation, IdList, Instance, JobId, JobSpec,
    JobState, JobTarget, LossReason, Page, QueueId, QueueInfo, QueueSpec, RequestId, Seq, Submit, TaskCounts,
    TaskNumber, TaskState, WorkerConfig, WorkerId,
};

/// A moment by the wall clock, microseconds since 1970 (UTC). Only for showing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WallTime(pub u64);

/// A request and its number on this link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The number; replies carry it.
    pub id: RequestId,
    /// What is asked.
    pub request: ClientRequest,
}

/// An answer to the call with that number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The number of the call.
    pub id: RequestId,
    /// What is answered.
    pub reply: ClientReply,
}

/// Which jobs or workers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Selector {
    /// The one with the largest id ever given; nothing where none was.
    Last,
    /// All of them (see the request for what it leaves out).
    All,
    /// These.
    Ids(IdList),
}

/// This one.
impl From<JobId> for Selector {
    fn from(job: JobId) -> Self {
        Self::Ids(IdList::range(job.0, 1))
    }
}

/// This one.
impl From<WorkerId> for Selector {
    fn from(worker: WorkerId) -> Self {
        Self::Ids(IdList::range(worker.0, 1))
    }
}

/// What a client can ask for. The kind of answer stands behind the arrow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientRequest {
    /// → [`ClientReply::Server`]
    ServerInfo,
    /// End the server and its workers → [`ClientReply::Done`]
    StopServer,
    /// → [`ClientReply::Submitted`], durable
    Submit(Box<Submit>),
    /// → [`ClientReply::Opened`], durable
    OpenJob(JobSpec),
    /// → [`ClientReply::Closed`], durable
    CloseJobs(Selector),
    /// `All` means jobs that wait or run. → [`ClientReply::Canceled`], durable, when backlogs have been called back
    CancelJobs {
        /// Which.
        jobs: Selector,
        /// Kept with the job; at most 200 bytes.
        reason: Option<String>,
    },
    /// → [`ClientReply::Forgotten`], durable
    ForgetJobs {
        /// Which.
        jobs: Selector,
        /// Only those in these states.
        states: Vec<JobState>,
    },
    /// → [`ClientReply::Jobs`]; where that is a piece, the rest is [`Selector::from`] its end
    Jobs(Selector),
    /// → [`ClientReply::JobDetails`]
    JobDetails {
        /// Which.
        jobs: Selector,
        /// What of them.
        part: DetailPart,
    },
    /// → [`ClientReply::Done`] once all selected jobs have ended and that is durable
    WaitJobs {
        /// Which; those that do not exist are ignored.
        jobs: Selector,
        /// Also wait until open jobs are closed.
        until_closed: bool,
    },
    /// `All` means also those that have ended. → [`ClientReply::Workers`], in pieces as [`Jobs`](Self::Jobs)
    Workers(Selector),
    /// → [`ClientReply::WorkersStopped`]
    StopWorkers(Selector),
    /// → [`ClientReply::Done`] once that many workers are there
    WaitWorkers(u32),
    /// → [`ClientReply::Events`] again and again, until the link or the subscription ends
    Subscribe {
        /// From this event on; none: from now on.
        from: Option<Seq>,
        /// Only events of these jobs; none: all events.
        jobs: Option<Vec<JobId>>,
        /// That many batches may be on their way before more credit is given.
        credit: u32,
    },
    /// More batches for the subscription of that call, or more chunks for that which listens. No answer.
    Credit {
        /// The call that subscribed.
        subscription: RequestId,
        /// How many more.
        batches: u32,
    },
    /// Forget a waiting call or a subscription. No answer.
    Abandon(RequestId),
    /// Let another order and placement decide → [`ClientReply::Done`], durable
    SetPolicy {
        /// Name of the order.
        order: String,
        /// Name of the placement.
        placement: String,
    },
    /// → [`ClientReply::Done`] once all that has happened is durable
    FlushJournal,
    /// Why a task that has not ended is where it is → [`ClientReply::Explained`]
    Explain {
        /// Its job.
        job: JobId,
        /// Its number.
        task: TaskNumber,
    },
    /// Listen to what programs of a job print through pipes ([`Stdio::Live`](crate::Stdio::Live) and streams), from now on →
    /// [`ClientReply::Outputs`] again and again, [`ClientReply::Done`] once the job has ended and is closed
    Listen {
        /// The job.
        job: JobId,
        /// That many chunks may be on their way before more credit is given.
        credit: u32,
    },
    /// [`Submit`](Self::Submit), and listen from the beginning → [`ClientReply::Submitted`], durable, then as
    /// [`Listen`](Self::Listen)
    SubmitListening {
        /// The tasks.
        submit: Box<Submit>,
        /// Chunks.
        credit: u32,
    },
    /// Keep tasks ready for [`SubmitStaged`](Self::SubmitStaged) on the same link, after those that are kept already; all are
    /// dropped with the link. What job they name is not looked at. → [`ClientReply::Done`]
    Stage(Box<Submit>),
    /// Submit all that is kept ready as one job: all of it or nothing. Tasks have to have numbers, and may wait for those of
    /// submits before theirs. → [`ClientReply::Submitted`], durable; with credit then as [`Listen`](Self::Listen)
    SubmitStaged {
        /// The job.
        job: JobTarget,
        /// Listen, too: that many chunks.
        credit: Option<u32>,
    },
    /// Cancel and close an open job when this link ends before the job is closed → [`ClientReply::Done`]
    Bind(JobId),
    /// Leave out of the journal what is over: completed jobs and workers that are gone → [`ClientReply::Done`] once its file
    /// is smaller
    PruneJournal,
    /// Make a queue of allocations → [`ClientReply::QueueAdded`], durable
    AddQueue {
        /// How it asks.
        spec: Box<QueueSpec>,
        /// First see whether its backend takes an allocation of it; where not, nothing has changed.
        trial: bool,
    },
    /// See whether a backend takes an allocation of such a queue → [`ClientReply::Done`]
    TryQueue(Box<QueueSpec>),
    /// → [`ClientReply::Queues`]
    Queues,
    /// → [`ClientReply::Allocations`]
    Allocations(QueueId),
    /// By the backend's name for it → [`ClientReply::Allocations`]
    FindAllocation(String),
    /// Ask for no more allocations → [`ClientReply::Done`], durable
    PauseQueue(QueueId),
    /// Ask again → [`ClientReply::Done`], durable
    ResumeQueue(QueueId),
    /// End all its allocations, then forget it → [`ClientReply::Done`], durable, when none is left
    RemoveQueue {
        /// Which.
        queue: QueueId,
        /// Even if it has allocations that have begun.
        force: bool,
    },
    /// As [`CancelJobs`](Self::CancelJobs), but only tasks that have not started; what runs goes on → [`ClientReply::Canceled`],
    /// durable, when backlogs have been called back
    CancelWaiting {
        /// Which.
        jobs: Selector,
        /// Kept with the job; at most 200 bytes.
        reason: Option<String>,
    },
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientReply {
    /// It is done.
    Done,
    /// It is not, and why; nothing has changed.
    Refused(Refusal),
    /// About the server.
    Server(Box<ServerInfo>),
    /// The submit is accepted.
    Submitted {
        /// Its job.
        job: JobId,
    },
    /// A job was opened.
    Opened {
        /// Its id.
        job: JobId,
    },
    /// Per selected job, by id.
    Closed(Vec<(JobId, CloseOutcome)>),
    /// Per selected job, by id.
    Canceled(Vec<(JobId, CancelOutcome)>),
    /// How many were forgotten, how many not.
    Forgotten {
        /// Gone from the books.
        forgotten: u64,
        /// In another state, or not there.
        ignored: u64,
    },
    /// By id; jobs that do not exist are missing.
    Jobs(Page<JobInfo>),
    /// By id; jobs that do not exist are missing.
    JobDetails(DetailPage),
    /// By id; workers that never were are missing.
    Workers(Page<WorkerInfo>),
    /// Per selected worker, by id.
    WorkersStopped(Vec<(WorkerId, StopOutcome)>),
    /// What happened, in order.
    Events(Vec<Event>),
    /// The feed does not reach back that far: what came before must be asked for anew. Events go on from `next`.
    Reset {
        /// Number of the next event.
        next: Seq,
    },
    /// Where the task stands, and what of each worker it could use.
    Explained(Box<Explanation>),
    /// What programs of the job printed, in the order in which the server heard of it.
    Outputs(Vec<TaskOutput>),
    /// The queue was made.
    QueueAdded(QueueId),
    /// By id.
    Queues(Vec<QueueInfo>),
    /// In the order in which they were asked for.
    Allocations(Vec<AllocationInfo>),
}

/// Something that a task printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskOutput {
    /// The task.
    pub task: TaskNumber,
    /// Which run of it.
    pub instance: Instance,
    /// Where it printed to.
    pub channel: Channel,
    /// Bytes of this run and channel before it.
    pub offset: u64,
    /// What it printed.
    pub data: Blob,
}

/// Why a request changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Refusal {
    /// Not a job.
    #[error("Job {0} not found")]
    NoJob(JobId),
    /// A closed one.
    #[error("Job {0} is not open")]
    NotOpen(JobId),
    /// A number that the job has already.
    #[error("Task {0} already exists in job {1}")]
    TaskExists(TaskNumber, JobId),
    /// A dependency on a task that does not come earlier.
    #[error("Invalid dependency on {on} of task {task}: it has to be an earlier task of the job")]
    Dependency {
        /// The task that waits.
        task: TaskNumber,
        /// What it waits for.
        on: TaskNumber,
    },
    /// Something is wrong with the request itself.
    #[error("{0}")]
    Invalid(String),
    /// The role of this link may not ask that.
    #[error("this connection may not do that: {0}")]
    Forbidden(String),
    /// Nothing more can be made safe.
    #[error("{0}; nothing more is accepted: make room or mend the disk, and restart the server")]
    JournalFailed(String),
    /// The server ends.
    #[error("the server is stopping")]
    Stopping,
    /// Not a task of that job.
    #[error("Task {0} not found in job {1}")]
    NoTask(TaskNumber, JobId),
    /// It waits and runs no more.
    #[error("Task {0} of job {1} has ended: only tasks that wait or run can be explained")]
    TaskEnded(TaskNumber, JobId),
}

/// What came of closing a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CloseOutcome {
    /// Closed now.
    Closed,
    /// It was closed before.
    AlreadyClosed,
    /// There is none.
    NotFound,
}

/// What came of cancelling a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CancelOutcome {
    /// These many tasks were cancelled, these many had ended before. What neither is runs.
    Canceled {
        /// By this request.
        canceled: u64,
        /// Before it.
        already_ended: u64,
    },
    /// All tasks had ended before.
    NothingLeft,
    /// There is none.
    NotFound,
}

/// What came of stopping a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopOutcome {
    /// It stops.
    Stopped,
    /// It had ended before.
    AlreadyStopped,
    /// There never was one.
    NotFound,
}

/// About a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerInfo {
    /// Kept over restarts; six letters and digits.
    pub server_uid: String,
    /// Where clients connect.
    pub client_host: String,
    /// Its port.
    pub client_port: u16,
    /// Where workers connect.
    pub worker_host: String,
    /// Its port.
    pub worker_port: u16,
    /// The program's version.
    pub version: String,
    /// The process.
    pub pid: u32,
    /// Start of this run.
    pub started: WallTime,
    /// The journal file.
    pub journal: Option<String>,
}

/// A job in a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobInfo {
    /// Its id.
    pub id: JobId,
    /// Name and `max_fails`.
    pub spec: JobSpec,
    /// Whether more tasks may be submitted.
    pub is_open: bool,
    /// Tasks by state.
    pub counts: TaskCounts,
    /// Reason of the latest cancel that had one.
    pub cancel_reason: Option<String>,
    /// When it was made.
    pub submitted: WallTime,
    /// When its last task ended, if all have.
    pub ended: Option<WallTime>,
}

impl JobInfo {
    /// Derived from the counters.
    pub const fn state(&self) -> JobState {
        JobState::of(&self.counts, self.is_open)
    }
}

/// A job with all it is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobDetail {
    /// The line.
    pub info: JobInfo,
    /// Its submits in order.
    pub submits: Vec<SubmitInfo>,
    /// Tasks of which there is something to say, by number.
    pub tasks: Vec<TaskInfo>,
    /// All other tasks, by state; never started.
    pub rest: Vec<(TaskState, IdList)>,
    /// Names of the workers that occur in `tasks`, by id.
    pub workers: Vec<(WorkerId, String)>,
    /// For `%{SERVER_UID}`.
    pub server_uid: String,
    /// Tasks that did not end well and are to be run again, but not yet; none where there is none.
    pub delayed: Option<Delayed>,
}

/// A submit of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmitInfo {
    /// When it came.
    pub submitted: WallTime,
    /// All of it; of the bodies only the first unless all are asked for.
    pub submit: Arc<Submit>,
}

/// A task that has started, or ended in a way worth telling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskInfo {
    /// Its number.
    pub number: TaskNumber,
    /// Where it is in its life.
    pub state: TaskState,
    /// Number of its latest run.
    pub instance: Instance,
    /// The variant of its latest run.
    pub variant: u8,
    /// Where it runs or ran last, main worker first.
    pub workers: Vec<WorkerId>,
    /// Start of the latest run.
    pub started: Option<WallTime>,
    /// Its end.
    pub ended: Option<WallTime>,
    /// Why it failed.
    pub error: Option<String>,
    /// Where it waits for a moment to be run again.
    pub delay: Option<TaskDelay>,
}

/// A task that did not end well and is to be run again, but not yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskDelay {
    /// Not before then.
    pub until: WallTime,
    /// How often its rules have let it run again, this time included.
    pub retries: u32,
    /// How its last run ended.
    pub error: String,
}

/// Tasks of a job that wait for a moment to be run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delayed {
    /// How many.
    pub tasks: u64,
    /// The first such moment.
    pub next: WallTime,
}

/// A worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerInfo {
    /// Its id.
    pub id: WorkerId,
    /// What it said of itself.
    pub config: Arc<WorkerConfig>,
    /// When it came.
    pub started: WallTime,
    /// When it went, and why.
    pub ended: Option<(WallTime, LossReason)>,
    /// What it does; none once it has ended.
    pub runtime: Option<WorkerRuntime>,
    /// The task that started last.
    pub last_task: Option<(JobId, TaskNumber, WallTime)>,
}

/// What a worker does right now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkerRuntime {
    /// Tasks on one worker.
    Single {
        /// Tasks that hold resources.
        assigned: u64,
        /// Those of them known to run.
        running: u64,
        /// Held for tasks that have no room yet and that nothing may pass, a gang above all.
        reserved: bool,
    },
    /// Part of a gang.
    Gang {
        /// Whether it is the one that runs the program.
        main: bool,
    },
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Last => f.write_str("last"),
            Self::All => f.write_str("all"),
            Self::Ids(ids) => ids.fmt(f),
        }
    }
}

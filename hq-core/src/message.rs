//! What a server and its workers say to each other, as plain data.
//!
//! These enums grow by appended variants only; a changed struct is a new variant.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    Allocation, Blob, Channel, Epoch, FailCause, Failure, GrantId, HardwareState, Instance, JobId, LossReason,
    OpenLanes, Ordinal, OrdinalRange, Parts, Request, RunId, Span, SubmitId, WorkerConfig, WorkerId, idlist,
};

/// From the server to a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToWorker {
    /// It is one of us now.
    Welcome(Welcome),
    /// It is not, and why; the link ends.
    Refused {
        /// One line for people.
        reason: String,
    },
    /// A body that work refers to; comes before the first such work.
    Submit(SubmitBody),
    /// That body is not needed any more.
    DropSubmit(SubmitId),
    /// A lane: a grant for one task after another.
    Open(Box<Open>),
    /// More tasks for a lane, behind those it has.
    Extend {
        /// The lane.
        grant: GrantId,
        /// The tasks.
        work: Vec<Work>,
    },
    /// Give back what has not started.
    Recall {
        /// The lane.
        grant: GrantId,
        /// Number of this recall, from 1 within the lane; the answer carries it.
        n: u32,
        /// Which tasks.
        tasks: Vec<OrdinalRange>,
    },
    /// The lane ends with the task that runs, if one does; nothing waits in it.
    Close {
        /// The lane.
        grant: GrantId,
    },
    /// Stop this task if it runs; it ends with [`Outcome::Killed`].
    Kill {
        /// The lane.
        grant: GrantId,
        /// The task.
        task: Ordinal,
    },
    /// Go on after a task that did not succeed.
    GoOn {
        /// The lane.
        grant: GrantId,
    },
    /// Reports up to this number are safe and may be forgotten.
    Ack {
        /// The report.
        seq: u64,
    },
    /// A sign of life.
    Heartbeat,
    /// End: kill what runs, exit as after a wish.
    Stop {
        /// Why.
        reason: LossReason,
    },
    /// Somebody listens to what programs of a job print through pipes: so many more chunks may be sent. Since version 2.
    Listen {
        /// The job.
        job: JobId,
        /// Counts how often somebody began to listen where nobody did: the room of an earlier session is gone, and what
        /// was sent in it is nobody's.
        session: u64,
        /// Chunks.
        credit: u32,
    },
    /// Nobody listens to a job any more. Since version 2.
    Unlisten {
        /// The job.
        job: JobId,
        /// The last session.
        session: u64,
    },
    /// The answer to [`FromWorker::Resume`]: it is the same worker as before.
    Resumed(Box<Resumed>),
    /// The answer to [`FromWorker::Resume`] where nothing is known of such a worker, or not any more: what it runs is
    /// nobody's, and it may say hello as a new one.
    Forgotten,
    /// Several lanes that are alike. Since version 2.
    OpenLanes(Box<OpenLanes>),
    /// Stop those of these tasks that run, as several [`Kill`](Self::Kill)s. Since version 2.
    KillAll {
        /// The tasks and their lanes.
        runs: Vec<RunId>,
    },
}

/// What a worker that came back may go on with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumed {
    /// Who it is, of which boot from now on; id and token are the old ones.
    pub welcome: Welcome,
    /// Lanes that go on. All others are over, and what runs in them is killed.
    pub kept: Vec<KeptGrant>,
}

/// A lane that goes on on a worker that came back. It starts nothing before a [`ToWorker::GoOn`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptGrant {
    /// The lane.
    pub grant: GrantId,
    /// Its tasks. What it has besides is not its own any more.
    pub tasks: Vec<OrdinalRange>,
}

impl ToWorker {
    /// Kills these runs on one worker; nothing where there are none.
    pub fn kill(runs: Vec<RunId>) -> Option<Self> {
        match runs[..] {
            [] => None,
            [RunId { task, grant }] => Some(Self::Kill { grant, task }),
            _ => Some(Self::KillAll { runs }),
        }
    }

    /// The first version of the protocol in which workers understand this message.
    pub const fn since(&self) -> u16 {
        match self {
            Self::Listen { .. } | Self::Unlisten { .. } | Self::Resumed(_) | Self::Forgotten => 2,
            Self::OpenLanes(_) | Self::KillAll { .. } => 2,
            _ => 1,
        }
    }
}

/// The first word to an accepted worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// Its id.
    pub worker: WorkerId,
    /// The boot it belongs to.
    pub epoch: Epoch,
    /// Proves later that it is the same worker.
    pub token: u64,
    /// For `%{SERVER_UID}`.
    pub server_uid: String,
    /// The server's idle timeout where the worker has none of its own.
    pub idle_timeout: Option<Span>,
}

/// What all tasks of a submit share, sent once to each worker that runs one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmitBody {
    /// Its name.
    pub submit: SubmitId,
    /// The job of its tasks.
    pub job: JobId,
    /// Which runner.
    pub kind: String,
    /// The shared part of the body.
    pub shared: Blob,
}

/// A lane and its first tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open {
    /// Its name.
    pub grant: GrantId,
    /// The request that is granted.
    pub request: Arc<Request>,
    /// Which of the class's variants it is.
    pub variant: u8,
    /// How many variants the class has.
    pub variants: u8,
    /// The indices its tasks use.
    pub allocation: Arc<Allocation>,
    /// For a gang: host names of its workers, the main one (this one) first.
    pub hosts: Vec<String>,
    /// The tasks, to be run in this order, one at a time.
    pub work: Vec<Work>,
    /// No task may start later than that after receipt, less a margin.
    pub not_after: Option<Span>,
}

/// Tasks of one submit with the same limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Whose body they have.
    pub submit: SubmitId,
    /// Killed after running that long.
    pub time_limit: Option<Span>,
    /// The tasks, in order.
    pub runs: Vec<WorkRun>,
    /// Their own parts of the body, in the same order. Empty: none has one.
    pub parts: Parts,
    /// Instances of those tasks that are not run for the first time.
    pub instances: Vec<(Ordinal, Instance)>,
}

/// Consecutive ordinals and their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkRun {
    /// The first ordinal.
    pub first: Ordinal,
    /// The numbers.
    pub numbers: idlist::Run,
}

/// From a worker to the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromWorker {
    /// The first word.
    Hello(Box<WorkerConfig>),
    /// What happened in its lanes; kept by the worker until acknowledged.
    Report(Report),
    /// The answer to a recall.
    Recalled {
        /// The lane.
        grant: GrantId,
        /// The recall.
        n: u32,
        /// What was really given back; the rest has started.
        tasks: Vec<OrdinalRange>,
    },
    /// A sign of life.
    Heartbeat,
    /// It ends now, and why; running tasks are killed.
    Leaving {
        /// Why.
        reason: LossReason,
    },
    /// A program says something to those who watch its job. Not kept anywhere.
    Notify {
        /// The run that says it.
        run: RunId,
        /// At most [`NOTIFY_MAX`] bytes.
        message: String,
    },
    /// What the worker's machine is doing.
    Overview(Box<HardwareState>),
    /// What a program printed, of a job that somebody listens to.
    Output(RunOutput),
    /// The first word of a worker that lost its link, or whose server began anew.
    Resume(Box<Resume>),
}

/// Who a worker was, what it has, and what happened that nobody has acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resume {
    /// Its id.
    pub worker: WorkerId,
    /// The boot that gave it.
    pub epoch: Epoch,
    /// The secret that came with it.
    pub token: u64,
    /// Number of the last report that was acknowledged.
    pub acked: u64,
    /// All reports since, in order.
    pub reports: Vec<Report>,
    /// Its lanes.
    pub grants: Vec<HeldGrant>,
}

/// What a worker has of a lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldGrant {
    /// The lane.
    pub grant: GrantId,
    /// What runs, and for how long.
    pub running: Option<(Ordinal, Span)>,
    /// What waits.
    pub backlog: Vec<OrdinalRange>,
}

/// Bytes of what a program printed that are sent at a time.
pub const OUTPUT_MAX: usize = 16 << 10;

/// Something that a run printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOutput {
    /// The run.
    pub run: RunId,
    /// The session of listening whose room it takes.
    pub session: u64,
    /// Where it printed to.
    pub channel: Channel,
    /// Bytes of this run and channel before it.
    pub offset: u64,
    /// At most [`OUTPUT_MAX`] bytes.
    pub data: Blob,
}

/// Bytes of what a program can say at a time.
pub const NOTIFY_MAX: usize = 1024;

/// What happened in the lanes of a worker since the report before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Number of this report, from 1 without a gap.
    pub seq: u64,
    /// Per lane with news.
    pub lanes: Vec<LaneReport>,
}

/// What happened in one lane, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneReport {
    /// The lane.
    pub grant: GrantId,
    /// Tasks that ended, in order.
    pub ended: Vec<RunEnd>,
    /// The task that runs now, and for how long, if that has not been said before.
    pub started: Option<(Ordinal, Span)>,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnd {
    /// The task.
    pub task: Ordinal,
    /// How long ago it ended, when the report was made.
    pub age: Span,
    /// How long it ran.
    pub took: Span,
    /// How it ended.
    pub outcome: Outcome,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Outcome {
    /// Well.
    Finished,
    /// Badly; the text is for people.
    Failed(String),
    /// By the server's word.
    Killed,
    /// Badly, and it is known of what. Since version 2.
    FailedOf(Box<Failure>),
}

impl Outcome {
    /// Badly, of that cause.
    pub fn failed_of(cause: FailCause, error: impl Into<String>) -> Self {
        match cause {
            FailCause::Other => Self::Failed(error.into()),
            cause => Self::FailedOf(Box::new(Failure { cause, error: error.into() })),
        }
    }

    /// Why it ended badly, for people.
    pub fn error(&self) -> Option<&str> {
        match self {
            Self::Failed(error) => Some(error),
            Self::FailedOf(failure) => Some(&failure.error),
            Self::Finished | Self::Killed => None,
        }
    }
}

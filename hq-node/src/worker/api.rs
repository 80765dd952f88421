use std::sync::Arc;

use hq_core::{
    Allocation, FromWorker, HardwareState, Instance, JobId, Outcome, Request, RunId, RunOutput, SubmitBody, TaskNumber,
    ToWorker, WorkerId,
};

/// News for a worker.
#[derive(Clone, Debug)]
pub enum WorkerInput {
    /// The link to the server is there; the machine says who it is.
    LinkUp,
    /// The server says this, in order.
    Messages(Vec<ToWorker>),
    /// The link is gone, cleanly or not, or could not be made.
    LinkDown,
    /// A run that was started has ended; exactly once per start.
    Ended {
        /// Which.
        run: RunId,
        /// How, as its runner saw it.
        outcome: Outcome,
    },
    /// A program says something to those who watch its job.
    Notify {
        /// The run that says it.
        run: RunId,
        /// At most [`NOTIFY_MAX`](hq_core::NOTIFY_MAX) bytes.
        message: String,
    },
    /// The machine was looked at.
    Overview(Box<HardwareState>),
    /// A program printed something, of a job that somebody listens to.
    Printed {
        /// Its job.
        job: JobId,
        /// What.
        output: RunOutput,
    },
    /// The process was told to end (SIGINT, SIGTERM): running tasks are killed, the server is not told why.
    Interrupted,
}

/// What a worker's shell has to do, in order.
#[derive(Clone, Debug)]
pub enum WorkerOutput {
    /// Tell the server.
    Send(Vec<FromWorker>),
    /// Start a run. Its end is handed in as [`WorkerInput::Ended`], also if it cannot be started.
    Start(StartOrder),
    /// End a run that has not ended yet; its end is handed in as usual.
    Stop {
        /// Which.
        run: RunId,
        /// How.
        how: StopHow,
    },
    /// Somebody listens to what programs of a job print: so many more pieces may be handed in as
    /// [`WorkerInput::Printed`]. None: nobody listens any more.
    Listen {
        /// The job.
        job: JobId,
        /// Each piece names the one whose room it takes. What is left of the room of another is gone.
        session: u64,
        /// Pieces.
        credit: Option<u32>,
    },
    /// Make a new link to the server and hand in [`WorkerInput::LinkUp`], or [`WorkerInput::LinkDown`] where that cannot
    /// be done. Only of workers that [reconnect](hq_core::OnServerLost::Reconnect).
    Connect,
    /// End the link: nothing that comes over it is handed in any more, its end neither.
    Disconnect,
    /// Kill what still runs and leave. The last output.
    Exit(Exit),
}

/// How a run is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopHow {
    /// A request that a program can act on (SIGINT to its group).
    Interrupt,
    /// For good (SIGKILL to its whole tree).
    Kill,
    /// The same because the worker leaves: the task has not come to its end and may be run again elsewhere.
    Leave,
}

/// Why a worker leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The server told it to: stopped by a user or idle. Exit code 0.
    Stopped,
    /// Its own time limit. Exit code 0.
    TimeLimit,
    /// The server is gone. Exit code 1.
    ServerLost,
    /// The server does not want it, and why. Exit code 1.
    Refused(String),
    /// A signal. Exit code 1.
    Interrupted,
}

/// A run to be started.
#[derive(Clone, Debug)]
pub struct StartOrder {
    /// Its name.
    pub run: RunId,
    /// The worker.
    pub worker: WorkerId,
    /// The job.
    pub job: JobId,
    /// The task's number in it.
    pub number: TaskNumber,
    /// Which run of the task it is.
    pub instance: Instance,
    /// The shared part of the body.
    pub body: Arc<SubmitBody>,
    /// The task's own part of the body.
    pub part: Vec<u8>,
    /// What it runs on.
    pub lane: Arc<Lane>,
}

/// What all runs of a lane have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The request that is granted.
    pub request: Arc<Request>,
    /// Which of the class's variants it is.
    pub variant: u8,
    /// How many variants the class has.
    pub variants: u8,
    /// The indices.
    pub allocation: Allocation,
    /// For a gang: host names, the main one first.
    pub hosts: Vec<String>,
    /// For `%{SERVER_UID}`.
    pub server_uid: String,
}

use hq_core::{CancelOutcome, Fact, GrantId, JobId, LaneReport, LossReason, OrdinalRange, ToWorker, WorkerId};

/// What the outside tells the scheduler. It cannot be refused; what is stale changes nothing.
#[derive(Clone, Debug)]
pub enum News {
    /// A worker is gone.
    WorkerLost {
        /// Which.
        worker: WorkerId,
        /// Why.
        reason: LossReason,
    },
    /// What happened in a lane.
    Report {
        /// Whose lane.
        worker: WorkerId,
        /// What.
        lane: LaneReport,
    },
    /// The answer to a recall.
    Recalled {
        /// Whose lane.
        worker: WorkerId,
        /// The lane.
        grant: GrantId,
        /// The recall.
        n: u32,
        /// What was given back.
        tasks: Vec<OrdinalRange>,
    },
}

/// What the scheduler wants done, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Write this to the journal; it is true already.
    Record(Fact),
    /// Tell a worker.
    Send {
        /// Whom.
        worker: WorkerId,
        /// What.
        message: ToWorker,
    },
    /// A cancel that waited for recalls is complete.
    Canceled {
        /// The cancel.
        token: CancelToken,
        /// Per job.
        job: JobId,
        /// What came of it.
        outcome: CancelOutcome,
    },
    /// Tell people: one line. Nothing has to be done.
    Warn(String),
    /// Stop this worker: it had nothing to do for too long.
    StopIdle {
        /// Which.
        worker: WorkerId,
    },
}

/// Names a cancel until its outcome is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CancelToken(pub u64);

/// Why a worker is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinRefused {
    /// Signs of life too close together.
    #[error("a heartbeat of {0} is too short: it has to be longer than 150ms")]
    Heartbeat(hq_core::Span),
    /// More than the engine counts.
    #[error("no more worker ids are left")]
    Workers,
}

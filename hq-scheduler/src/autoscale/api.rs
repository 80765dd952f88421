use std::sync::Arc;

use hq_core::{Fact, QueueId, QueueSpec};

/// What an autoscaler wants done, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScaleAction {
    /// Write this to the journal; it is true already.
    Record(Fact),
    /// Ask a backend; a submission once all that was recorded before is safe.
    Order(ScaleOrder),
    /// Tell people: one line. Nothing has to be done.
    Warn(String),
}

/// What a backend is to be asked. Each is answered by one [`ScaleNews`], but [`Discard`](Self::Discard).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScaleOrder {
    /// Ask for an allocation.
    Submit {
        /// The queue.
        queue: QueueId,
        /// How it asks.
        spec: Arc<QueueSpec>,
        /// The engine's name for the allocation.
        key: String,
        /// Counted per queue, from 1.
        number: u64,
        /// Workers wanted.
        workers: u32,
    },
    /// Find out whether the backend has it.
    Find {
        /// The queue.
        queue: QueueId,
        /// How it asks.
        spec: Arc<QueueSpec>,
        /// The engine's name for the allocation.
        key: String,
        /// Counted per queue, from 1.
        number: u64,
        /// Workers wanted.
        workers: u32,
    },
    /// Ask where these are in their lives.
    Status {
        /// The queue.
        queue: QueueId,
        /// How it asks.
        spec: Arc<QueueSpec>,
        /// Which.
        allocations: Vec<Asked>,
    },
    /// Have it ended.
    Cancel {
        /// The queue.
        queue: QueueId,
        /// How it asks.
        spec: Arc<QueueSpec>,
        /// Which.
        allocation: Asked,
    },
    /// See whether an allocation would be taken, without asking for one.
    Probe {
        /// The queue.
        queue: QueueId,
        /// How it asks.
        spec: Arc<QueueSpec>,
    },
    /// The directory of a submission that failed is not wanted any more. Not answered.
    Discard {
        /// The queue.
        queue: QueueId,
        /// How it asks.
        spec: Arc<QueueSpec>,
        /// The allocation's number.
        number: u64,
    },
}

/// An allocation that a backend is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The engine's name for it.
    pub key: String,
    /// The backend's.
    pub id: String,
    /// Where its script and outputs are.
    pub dir: Option<String>,
}

/// What became of a [`ScaleOrder`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScaleNews {
    /// The queue.
    pub queue: QueueId,
    /// What is told of it.
    pub told: Told,
}

/// What is told of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// The backend has the allocation: it was asked for, or found.
    Has {
        /// The engine's name for it.
        key: String,
        /// The backend's.
        id: String,
        /// Where its script and outputs are.
        dir: Option<String>,
    },
    /// The backend does not have it, and will not: it was refused, or could never be found again.
    Refused {
        /// The engine's name for it.
        key: String,
        /// Why, in one line.
        error: String,
    },
    /// It was asked for, and whether the backend has it is not known.
    Unsure {
        /// The engine's name for it.
        key: String,
        /// Why, in one line.
        error: String,
    },
    /// Looked for and not there.
    Missing {
        /// The engine's name for it.
        key: String,
    },
    /// Where allocations are in their lives; what is not known of one, and why, is an error.
    Status(Vec<(String, Result<ScaleStatus, String>)>),
    /// An allocation was ended, or not.
    Canceled {
        /// The engine's name for it.
        key: String,
        /// Why not.
        error: Option<String>,
    },
    /// An allocation would be taken, or not.
    Probed {
        /// Why not.
        error: Option<String>,
    },
}

/// Where an allocation is in its life, by word of its backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScaleStatus {
    /// Not begun.
    Queued,
    /// Begun.
    Running,
    /// Over, or not known any more.
    Ended {
        /// What went wrong.
        error: Option<String>,
    },
}

/// Why a command about a queue changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueueRefusal {
    /// There is none.
    #[error("Queue {0} not found")]
    NotFound(QueueId),
    /// It has allocations that have begun.
    #[error(
        "Allocation queue has running jobs, so it will not be removed. Use `--force` if you want to remove the queue anyway"
    )]
    Running,
    /// There is something wrong with the queue that is asked for.
    #[error("{0}")]
    Invalid(String),
}

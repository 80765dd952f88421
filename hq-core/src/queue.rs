//! Queues of allocations: how machines are asked for, and what has come of it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{QueueId, ResourceDef, Span, WallTime, WorkerConfig, WorkerResources};

/// How a queue of allocations asks for machines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueSpec {
    /// Name of the backend, e.g. `local`.
    pub backend: String,
    /// Allocations that may wait at the backend at a time; at least 1.
    pub backlog: u32,
    /// Workers per allocation at most; at least 1.
    pub workers_per_allocation: u32,
    /// Queued and running workers together at most.
    pub max_workers: Option<u32>,
    /// Life of an allocation.
    pub time_limit: Option<Span>,
    /// What each of its workers is, where that is certain before one has come.
    pub worker: Option<Arc<WorkerConfig>>,
    /// Its name for people.
    #[serde(default)]
    pub name: Option<String>,
    /// What a worker is said to have, until one has come; there may be more. None: nobody knows.
    #[serde(default)]
    pub offer: Option<Vec<ResourceDef>>,
    /// Least used share of a worker's cpus, in 1/10,000.
    #[serde(default)]
    pub min_utilization: u32,
    /// A worker's life, where it is shorter than its allocation's.
    #[serde(default)]
    pub worker_time_limit: Option<Span>,
    /// A worker that has nothing to do for that long goes; what waits for nobody is given back after as long.
    #[serde(default)]
    pub idle_timeout: Option<Span>,
    /// Options of `worker start`, each value in double quotes, as the script has them.
    #[serde(default)]
    pub worker_args: Vec<String>,
    /// Further words for the batch system.
    #[serde(default)]
    pub submit_args: Vec<String>,
    /// Shell command before each worker.
    #[serde(default)]
    pub start_command: Option<String>,
    /// Shell command after each worker.
    #[serde(default)]
    pub stop_command: Option<String>,
    /// What the worker's command is given to.
    #[serde(default)]
    pub wrap_command: Option<String>,
}

impl QueueSpec {
    /// One allocation of one worker at a time, with no limits.
    pub fn new(backend: impl Into<String>) -> Self {
        Self { backend: backend.into(), backlog: 1, workers_per_allocation: 1, ..Self::default() }
    }
}

/// A queue as clients see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueInfo {
    /// Its id.
    pub id: QueueId,
    /// How it asks.
    pub spec: Arc<QueueSpec>,
    /// Why it asks for nothing, if so.
    pub paused: Option<PauseCause>,
    /// What its last worker had.
    pub known: Option<WorkerResources>,
}

/// Why a queue asks for nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PauseCause {
    /// A user said so.
    User,
    /// Submissions failed again and again: the last error. It tries again by itself.
    Submissions(String),
    /// Allocations failed at once again and again: the last error. It tries again by itself.
    Allocations(String),
}

/// An allocation as clients see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllocationInfo {
    /// Its queue.
    pub queue: QueueId,
    /// The backend's name for it.
    pub id: String,
    /// Workers that were asked for.
    pub workers: u32,
    /// Where it is in its life.
    pub state: AllocationState,
    /// Since when the backend has it.
    pub queued: WallTime,
    /// Its beginning.
    pub started: Option<WallTime>,
    /// Its end.
    pub ended: Option<WallTime>,
    /// What went wrong.
    pub error: Option<String>,
    /// Where its script and outputs are.
    pub dir: Option<String>,
}

/// Where an allocation is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum AllocationState {
    /// The backend has it; it has not begun.
    Queued,
    /// It has begun.
    Running,
    /// It is over.
    Finished,
    /// It is over, and something went wrong.
    Failed,
}

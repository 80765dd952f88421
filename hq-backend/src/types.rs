use std::{fmt, sync::Arc};

use hq_core::{Span, WorkerConfig};

/// What a backend can do; a request beyond it is refused with
/// [`BackendErrorKind::Unsupported`](crate::BackendErrorKind::Unsupported) before anything is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capability {
    /// Workers in one allocation at most.
    pub workers_max: u32,
    /// Whether the backend itself ends an allocation at its time limit.
    pub time_limit: bool,
    /// Whether [`find`](crate::AllocatorBackend::find) sees allocations that an earlier process of the engine asked
    /// for.
    pub find: bool,
}

/// What is wanted of a backend: one allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocationRequest {
    /// The engine's name for it, never used twice; letters, digits, `-` and `_`. The backend keeps it with the
    /// allocation where it can, so that [`find`](crate::AllocatorBackend::find) works.
    pub key: String,
    /// Workers wanted; at least 1.
    pub workers: u32,
    /// The allocation's life at most.
    pub time_limit: Option<Span>,
    /// The program and arguments that start one worker of it; empty where the engine listens to nobody.
    pub command: Vec<String>,
    /// What one of its workers shall be, where the queue says so.
    pub worker: Option<Arc<WorkerConfig>>,
}

/// A backend's own name for an allocation, e.g. the id of a batch job.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AllocationId(pub String);

impl fmt::Display for AllocationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where an allocation is in its life. It only goes on, never back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllocationStatus {
    /// Not begun.
    Queued,
    /// Its machines are there.
    Running,
    /// Over, or not known (any more).
    Ended {
        /// What went wrong, in one line, if something did.
        error: Option<String>,
    },
}

use std::{fmt, path::PathBuf};

use crate::AllocationRequest;

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
    /// Whether [`validate`](crate::AllocatorBackend::validate) can tell anything.
    pub validate: bool,
    /// Whether the manager keeps scripts and outputs in a directory, so that requests need a
    /// [`BatchRequest`](crate::BatchRequest).
    pub batch: bool,
}

/// A backend's own name for an allocation, e.g. the id of a batch job.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AllocationId(pub String);

impl fmt::Display for AllocationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An allocation that was asked for, as the engine knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The backend's name for it. A manager that crashed may give it to another job: the directory tells.
    pub id: AllocationId,
    /// The engine's name for it.
    pub key: String,
    /// Its [directory](crate::BatchRequest::directory), if it has one.
    pub directory: Option<PathBuf>,
}

impl Allocation {
    /// What was got for a request.
    pub fn of(request: &AllocationRequest, id: AllocationId) -> Self {
        let directory = request.batch.as_ref().map(|batch| batch.directory.clone());
        Self { id, key: request.key.clone(), directory }
    }
}

/// Seconds since 1970, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnixTime(pub i64);

/// Where an allocation is in its life. It goes on, and back only where a manager puts it into its queue again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllocationStatus {
    /// Not begun.
    Queued {
        /// Why it waits, in the manager's words, if it says so.
        reason: Option<String>,
    },
    /// Its machines are there.
    Running {
        /// When it began, if the manager says so.
        started: Option<UnixTime>,
    },
    /// It lives, and its manager says where in words that nobody here knows: what was known of it stays true.
    Unclear {
        /// The words.
        state: String,
    },
    /// Over, or not known (any more).
    Ended(AllocationEnd),
}

impl AllocationStatus {
    /// An end without anything more to say of it.
    pub const fn ended(cause: EndCause) -> Self {
        Self::Ended(AllocationEnd { cause, error: None, started: None, ended: None, may_return: false })
    }

    /// Whether it is over.
    pub const fn is_ended(&self) -> bool {
        matches!(self, Self::Ended(_))
    }
}

/// How an allocation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocationEnd {
    /// To branch on.
    pub cause: EndCause,
    /// What went wrong, in one line, if something did.
    pub error: Option<String>,
    /// When it began, if the manager says so.
    pub started: Option<UnixTime>,
    /// When it ended, if the manager says so.
    pub ended: Option<UnixTime>,
    /// Whether the manager may start it again under the same id, e.g. after the loss of a node.
    pub may_return: bool,
}

/// Why an allocation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndCause {
    /// Its workers ended well.
    Finished,
    /// Its time was over.
    TimeLimit,
    /// Its workers failed, or could not be started.
    Failed,
    /// Somebody cancelled it.
    Canceled,
    /// The manager took its machines away, or lost them.
    Lost,
    /// The manager does not know it, or not any more.
    Unknown,
}

impl EndCause {
    /// Whether it counts as a failure of the allocation.
    pub const fn is_failure(self) -> bool {
        !matches!(self, Self::Finished | Self::TimeLimit)
    }
}

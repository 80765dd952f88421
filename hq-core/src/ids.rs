//! Names of things: what users see and what the engine counts by.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($repr:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $repr);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<$repr> for $name {
            fn from(value: $repr) -> Self {
                Self(value)
            }
        }
    };
}

id! {
    /// A job, counted from 1 in order of creation. Never reused.
    JobId(u32)
}
id! {
    /// The number of a task inside its job, as its user gave it.
    TaskNumber(u32)
}
id! {
    /// A worker, counted from 1 in order of arrival. Never reused.
    WorkerId(u32)
}
id! {
    /// A task inside the engine: the base of its submit plus its index in the submit's id list.
    /// Dense, in submit order, never reused; its order is the tie-break everywhere.
    Ordinal(u64)
}
id! {
    /// A submit, named by the ordinal of its first task.
    SubmitId(u64)
}
id! {
    /// An interned class of tasks: the same variants and the same kind of body.
    ClassId(u32)
}
id! {
    /// An interned resource name. `0` is always `cpus`.
    ResourceId(u16)
}
id! {
    /// Position of a fact in the journal, from 1; also the sequence number of the event it causes.
    Seq(u64)
}
id! {
    /// How often the server has booted on this journal, from 1. Fences what an earlier boot granted.
    Epoch(u32)
}
id! {
    /// Which run of a task this is, from 0; only grows.
    Instance(u32)
}
id! {
    /// An allocation queue, counted from 1.
    QueueId(u32)
}
id! {
    /// A link between the server and one peer; given by the shell that carries it, never reused.
    LinkId(u64)
}
id! {
    /// A request of a client on its link; the reply carries the same number.
    RequestId(u64)
}

impl Ordinal {
    /// The ordinal `n` further on.
    pub const fn plus(self, n: u64) -> Self {
        Self(self.0 + n)
    }
}

impl Seq {
    /// The next sequence number.
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// A grant of resources: everything a worker does for the engine is done under one.
///
/// Fenced by the epoch: a grant of an earlier boot is recognised as stale by its number alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "(Epoch, u32)", into = "(Epoch, u32)")] // no names: it is in most records of a journal
pub struct GrantId {
    /// The boot that gave it.
    pub epoch: Epoch,
    /// Count within the boot, from 1.
    pub n: u32,
}

impl GrantId {
    /// Whether `other` was numbered directly after it.
    pub fn is_followed_by(self, other: Self) -> bool {
        self.epoch == other.epoch && self.n.checked_add(1) == Some(other.n)
    }
}

/// By epoch, then by number: as one number, since maps of grants compare all the time.
impl Ord for GrantId {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let number = |grant: &Self| u64::from(grant.epoch.0) << 32 | u64::from(grant.n);
        number(self).cmp(&number(other))
    }
}

impl PartialOrd for GrantId {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl From<(Epoch, u32)> for GrantId {
    fn from((epoch, n): (Epoch, u32)) -> Self {
        Self { epoch, n }
    }
}

impl From<GrantId> for (Epoch, u32) {
    fn from(grant: GrantId) -> Self {
        (grant.epoch, grant.n)
    }
}

impl fmt::Display for GrantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epoch, self.n)
    }
}

/// A run of a task: the task and the grant it runs under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RunId {
    /// The task.
    pub task: Ordinal,
    /// The grant.
    pub grant: GrantId,
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}@{}", self.task, self.grant)
    }
}

//! Jobs and tasks as their users see them.

use std::{fmt, iter::Sum};

use serde::{Deserialize, Serialize};

/// Where a task is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TaskState {
    /// Not running: ready, in a backlog, waiting for dependencies, or to be run again.
    Waiting,
    /// A worker runs it.
    Running,
    /// Ended well.
    Finished,
    /// Ended badly by itself.
    Failed,
    /// Ended by its user.
    Canceled,
    /// Never run, or stopped, because of another task's failure or the job's `max_fails`.
    Aborted,
}

impl TaskState {
    /// True once the task has ended.
    pub const fn is_end(self) -> bool {
        !matches!(self, Self::Waiting | Self::Running)
    }

    /// In upper case, as tables show it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Waiting => "WAITING",
            Self::Running => "RUNNING",
            Self::Finished => "FINISHED",
            Self::Failed => "FAILED",
            Self::Canceled => "CANCELED",
            Self::Aborted => "ABORTED",
        }
    }
}

/// How many tasks of a job are in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TaskCounts {
    /// Not running and not ended.
    pub waiting: u64,
    /// On a worker.
    pub running: u64,
    /// Ended well.
    pub finished: u64,
    /// Ended badly.
    pub failed: u64,
    /// Ended by the user.
    pub canceled: u64,
    /// Ended because of others.
    pub aborted: u64,
}

impl TaskCounts {
    /// All tasks.
    pub const fn total(&self) -> u64 {
        self.waiting.saturating_add(self.running).saturating_add(self.ended())
    }

    /// Those that neither wait nor run.
    pub const fn ended(&self) -> u64 {
        self.finished.saturating_add(self.failed).saturating_add(self.canceled).saturating_add(self.aborted)
    }

    /// True when none waits and none runs.
    pub const fn is_terminated(&self) -> bool {
        self.waiting == 0 && self.running == 0
    }

    /// The counter of `state`.
    pub const fn of(&self, state: TaskState) -> u64 {
        match state {
            TaskState::Waiting => self.waiting,
            TaskState::Running => self.running,
            TaskState::Finished => self.finished,
            TaskState::Failed => self.failed,
            TaskState::Canceled => self.canceled,
            TaskState::Aborted => self.aborted,
        }
    }

    /// The counter of `state`, to change it.
    pub const fn of_mut(&mut self, state: TaskState) -> &mut u64 {
        match state {
            TaskState::Waiting => &mut self.waiting,
            TaskState::Running => &mut self.running,
            TaskState::Finished => &mut self.finished,
            TaskState::Failed => &mut self.failed,
            TaskState::Canceled => &mut self.canceled,
            TaskState::Aborted => &mut self.aborted,
        }
    }
}

/// State by state; a sum that is too large is the largest number.
impl<'a> Sum<&'a Self> for TaskCounts {
    fn sum<I: Iterator<Item = &'a Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, counts| Self {
            waiting: sum.waiting.saturating_add(counts.waiting),
            running: sum.running.saturating_add(counts.running),
            finished: sum.finished.saturating_add(counts.finished),
            failed: sum.failed.saturating_add(counts.failed),
            canceled: sum.canceled.saturating_add(counts.canceled),
            aborted: sum.aborted.saturating_add(counts.aborted),
        })
    }
}

/// A job as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum JobState {
    /// A task runs.
    Running,
    /// Tasks wait and none runs.
    Waiting,
    /// All ended, some badly.
    Failed,
    /// All ended, some because of others.
    Aborted,
    /// All ended, some by the user.
    Canceled,
    /// Nothing is left to do and more may be submitted.
    Opened,
    /// All ended well.
    Finished,
}

impl JobState {
    /// Derived from the counters; the first that holds, in order of the variants.
    pub const fn of(counts: &TaskCounts, is_open: bool) -> Self {
        if counts.running > 0 {
            Self::Running
        } else if counts.waiting > 0 {
            Self::Waiting
        } else if counts.failed > 0 {
            Self::Failed
        } else if counts.aborted > 0 {
            Self::Aborted
        } else if counts.canceled > 0 {
            Self::Canceled
        } else if is_open {
            Self::Opened
        } else {
            Self::Finished
        }
    }

    /// In upper case, as tables show it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Running => "RUNNING",
            Self::Waiting => "WAITING",
            Self::Failed => "FAILED",
            Self::Aborted => "ABORTED",
            Self::Canceled => "CANCELED",
            Self::Opened => "OPENED",
            Self::Finished => "FINISHED",
        }
    }
}

/// What a job is made of besides its tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct JobSpec {
    /// Shown to people.
    pub name: String,
    /// With more failed tasks than that, the rest is aborted.
    pub max_fails: Option<u32>,
}

/// How often a task may lose its worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum CrashLimit {
    /// It may never run twice: any loss of its worker while it runs fails it.
    NeverRestart,
    /// It fails at the n-th unexpected loss; at least 1.
    Limit(u16),
    /// No bound.
    Unlimited,
}

impl Default for CrashLimit {
    fn default() -> Self {
        Self::Limit(5)
    }
}

impl fmt::Display for CrashLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeverRestart => f.write_str("never-restart"),
            Self::Limit(n) => n.fmt(f),
            Self::Unlimited => f.write_str("unlimited"),
        }
    }
}

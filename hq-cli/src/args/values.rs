//! Words that options take.

use clap::ValueEnum;
use hq_core::{JobState, Pin, TaskState};

/// An output of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Channel {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Channel {
    /// As the user writes it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }

    /// The file that it goes to where nothing else is said, with placeholders.
    pub(crate) fn usual_path(self) -> String {
        format!("%{{CWD}}/job-%{{JOB_ID}}/%{{TASK_ID}}.{}", self.name())
    }
}

impl From<Channel> for hq_core::Channel {
    fn from(channel: Channel) -> Self {
        match channel {
            Channel::Stdout => Self::Stdout,
            Channel::Stderr => Self::Stderr,
        }
    }
}

/// A state of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum JobStateArg {
    /// Nothing runs, something waits.
    Waiting,
    /// Something runs.
    Running,
    /// All ended well.
    Finished,
    /// All ended, some badly.
    Failed,
    /// All ended, some by the user.
    Canceled,
    /// All ended, some because of others.
    Aborted,
    /// Nothing to do, more may come.
    Opened,
}

impl From<JobStateArg> for JobState {
    fn from(state: JobStateArg) -> Self {
        match state {
            JobStateArg::Waiting => Self::Waiting,
            JobStateArg::Running => Self::Running,
            JobStateArg::Finished => Self::Finished,
            JobStateArg::Failed => Self::Failed,
            JobStateArg::Canceled => Self::Canceled,
            JobStateArg::Aborted => Self::Aborted,
            JobStateArg::Opened => Self::Opened,
        }
    }
}

/// A state of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TaskStateArg {
    /// Not started, or to be run again.
    Waiting,
    /// On a worker.
    Running,
    /// Ended well.
    Finished,
    /// Ended badly.
    Failed,
    /// Ended by the user.
    Canceled,
    /// Ended because of others.
    Aborted,
}

impl From<TaskStateArg> for TaskState {
    fn from(state: TaskStateArg) -> Self {
        match state {
            TaskStateArg::Waiting => Self::Waiting,
            TaskStateArg::Running => Self::Running,
            TaskStateArg::Finished => Self::Finished,
            TaskStateArg::Failed => Self::Failed,
            TaskStateArg::Canceled => Self::Canceled,
            TaskStateArg::Aborted => Self::Aborted,
        }
    }
}

/// A way of pinning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PinArg {
    /// Run the program under `taskset`.
    Taskset,
    /// Set the variables of OpenMP.
    Omp,
}

impl From<PinArg> for Pin {
    fn from(pin: PinArg) -> Self {
        match pin {
            PinArg::Taskset => Self::Taskset,
            PinArg::Omp => Self::OpenMp,
        }
    }
}

//! Which output of which run.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Instance, JobId, TaskNumber};

/// An output of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Channel {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Channel {
    /// Both of them, in the order of their numbers.
    pub const ALL: [Self; 2] = [Self::Stdout, Self::Stderr];

    /// 0 for standard output, 1 for standard error.
    pub const fn number(self) -> u8 {
        match self {
            Self::Stdout => 0,
            Self::Stderr => 1,
        }
    }

    /// The channel of that number.
    pub const fn of_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Stdout),
            1 => Some(Self::Stderr),
            _ => None,
        }
    }

    /// Its place in an array with one element per channel.
    pub const fn index(self) -> usize {
        self.number() as usize
    }

    /// `stdout` or `stderr`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A run of a task, as users name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskRun {
    /// The job.
    pub job: JobId,
    /// The task's number in it.
    pub task: TaskNumber,
    /// Which run of the task.
    pub instance: Instance,
}

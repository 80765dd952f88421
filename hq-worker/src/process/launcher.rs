use std::{io, os::fd::OwnedFd, sync::Arc};

use super::sys::{Cloner, Failure, Guardian, Program};

/// A process that runs, leader of a group and session of its own.
#[derive(Debug)]
pub(crate) struct Child {
    pub(super) pid: i32,
    pub(super) pidfd: OwnedFd,
}

/// Starts programs from one thread, which lives as long as they do.
pub(crate) struct Launcher {
    cloner: Cloner,
    guardian: Arc<Guardian>,
}

impl Launcher {
    /// For the calling thread; blocks all its signals.
    pub(super) fn new(guardian: Arc<Guardian>) -> io::Result<Self> {
        Ok(Self { cloner: Cloner::new()?, guardian })
    }

    /// Starts a program; returns when it runs or has failed to.
    ///
    /// It has a new session, default signals, nothing open but its standard streams, and gets SIGTERM when the worker
    /// dies; the guardian kills its group soon after.
    ///
    /// # Errors
    /// Says which step failed, with the system's number; nothing is left behind.
    pub(crate) fn spawn(&mut self, program: &Program<'_>) -> Result<Child, Failure> {
        let spawned = self.cloner.spawn(program, &self.guardian)?;
        Ok(Child { pid: spawned.pid, pidfd: spawned.pidfd })
    }
}

use std::{io, os::fd::OwnedFd, sync::Arc};

use super::sys::{Cloner, Failure, Ledger, Program};

/// A process that runs, leader of a group and session of its own.
#[derive(Debug)]
pub(crate) struct Child {
    pub(super) pid: i32,
    pub(super) pidfd: OwnedFd,
    /// The number by which its environment, and that of its descendants, is known.
    pub(super) run: u64,
}

/// Starts programs from one thread, which lives as long as they do.
pub(crate) struct Launcher {
    cloner: Cloner,
    ledger: Arc<Ledger>,
}

impl Launcher {
    /// For the calling thread; blocks all its signals.
    pub(super) fn new(ledger: Arc<Ledger>) -> io::Result<Self> {
        Ok(Self { cloner: Cloner::new()?, ledger })
    }

    /// Starts a program; returns when it runs or has failed to.
    ///
    /// It has a new session, default signals, nothing open but its standard streams, a key of its run in its
    /// environment, and gets SIGTERM when the worker dies; the guardian kills its tree soon after.
    ///
    /// # Errors
    /// Says which step failed, with the system's number; nothing is left behind.
    pub(crate) fn spawn(&mut self, program: &Program<'_>) -> Result<Child, Failure> {
        let mark = self.ledger.mark();
        let run = mark.next_run();
        let spawned = self.cloner.spawn(program, &self.ledger, run, &mark.variable(run))?;
        Ok(Child { pid: spawned.pid, pidfd: spawned.pidfd, run })
    }
}

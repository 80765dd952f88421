use std::io;

use rustix::process::{WaitId, WaitIdOptions, waitid};
use std::os::fd::BorrowedFd;

/// How a process ended.
#[derive(Debug)]
pub(crate) enum ProcessEnd {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Signaled(i32),
    /// Somebody else reaped it.
    Unknown(io::Error),
}

impl ProcessEnd {
    /// Reaps a process that has ended; waits if it has not.
    pub(super) fn reap(pidfd: BorrowedFd<'_>) -> Self {
        loop {
            match waitid(WaitId::PidFd(pidfd), WaitIdOptions::EXITED) {
                Ok(Some(status)) => {
                    return match (status.exit_status(), status.terminating_signal()) {
                        (Some(code), _) => Self::Exited(code),
                        (None, Some(signal)) => Self::Signaled(signal),
                        (None, None) => Self::Unknown(io::Error::other("neither exited nor killed")),
                    };
                }
                Ok(None) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Self::Unknown(error.into()),
            }
        }
    }
}

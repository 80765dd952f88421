use std::{io, os::fd::BorrowedFd, sync::Arc};

use super::queue::Queue;

/// The thread that reads the pipes of a run can notice the end of its process as well: that saves a change of thread.
pub(crate) struct Watcher {
    key: u64,
    queue: Arc<Queue>,
}

impl Watcher {
    /// Of the run with this key.
    pub(super) const fn new(key: u64, queue: Arc<Queue>) -> Self {
        Self { key, queue }
    }

    /// Lets that thread call `ended` once a process that was started has ended; `pidfd` tells what is readable then.
    ///
    /// # Errors
    /// Gives the process back where it cannot be watched, with the reason.
    pub(crate) fn watch<L: Send + 'static>(
        self,
        process: L,
        pidfd: impl Fn(&L) -> BorrowedFd<'_>,
        ended: impl FnOnce(L) + Send + 'static,
    ) -> Result<(), (io::Error, L)> {
        self.queue.watch_process(self.key, process, pidfd, ended)
    }
}

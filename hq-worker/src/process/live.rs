use std::os::fd::AsFd;

use hq_core::RunId;
use hq_node::StopHow;

use super::{
    Child, ProcessEnd, Task,
    supervisor::{Shared, Slot},
};

/// A run that has a process.
pub(super) struct Live<T: Task> {
    pub(super) run: RunId,
    pub(super) child: Child,
    pub(super) kept: T::Live,
    /// It was told to end.
    pub(super) stopped: Option<StopHow>,
}

impl<T: Task> Live<T> {
    /// Its process has ended: tells that, or leaves to the sweeper what may be left of the tree of a stopped run.
    pub(super) fn ended(mut self, shared: &Shared<T>) {
        // Until it is reaped, below or when the sweeper is through, the number is its own. Nobody signals it once the
        // slot is gone.
        let slot = shared.runs.lock().remove(&self.run);
        if let Some(Slot::Running { stopped: stopped @ Some(_), .. }) = slot {
            self.stopped = stopped;
            shared.sweep(self);
        } else {
            self.finish(shared);
        }
    }

    /// Reaps the process and tells the end of the run.
    pub(super) fn finish(self, shared: &Shared<T>) {
        let Self { child, kept, stopped, .. } = self;
        shared.ledger.remove(child.pid, child.run);
        let end = ProcessEnd::reap(child.pidfd.as_fd());
        drop(child);
        T::tell(T::finish(kept, end, stopped));
    }
}

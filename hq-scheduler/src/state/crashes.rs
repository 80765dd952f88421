//! Which workers were lost while they ran a task.

use hq_core::WorkerId;

/// So many lost workers are kept of a task.
const LOST_MAX: usize = 8;

/// It stays when the task has ended, as its instance does: forgetting thousands of them one by one would be most of a cancel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Crashes {
    pub(crate) count: u16,
    /// The first few.
    pub(crate) lost: Vec<WorkerId>,
}

impl Crashes {
    pub(super) fn add(&mut self, worker: WorkerId) {
        self.count = self.count.saturating_add(1);
        if self.lost.len() < LOST_MAX {
            self.lost.push(worker);
        }
    }
}

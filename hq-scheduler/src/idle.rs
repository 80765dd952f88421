use std::collections::{BTreeMap, BTreeSet};

use hq_core::{Tick, WorkerId};

/// Workers with nothing to do that are stopped after a time, and when that is.
#[derive(Debug, Default)]
pub(crate) struct Idle {
    ends: BTreeMap<WorkerId, Tick>,
    by_end: BTreeSet<(Tick, WorkerId)>,
}

impl Idle {
    /// A worker has nothing to do and is stopped at `end`; nothing changes where it had nothing to do before.
    pub(crate) fn begin(&mut self, worker: WorkerId, end: Tick) {
        if let std::collections::btree_map::Entry::Vacant(entry) = self.ends.entry(worker) {
            entry.insert(end);
            self.by_end.insert((end, worker));
        }
    }

    /// A worker has something to do, or is gone.
    pub(crate) fn end(&mut self, worker: WorkerId) {
        if let Some(end) = self.ends.remove(&worker) {
            self.by_end.remove(&(end, worker));
        }
    }

    /// When the next one is to be stopped.
    pub(crate) fn next(&self) -> Option<Tick> {
        self.by_end.first().map(|(end, _)| *end)
    }

    /// The next one that is to be stopped by now; it does not count any more.
    pub(crate) fn pop_due(&mut self, now: Tick) -> Option<WorkerId> {
        let (_, worker) = *self.by_end.first().filter(|(end, _)| *end <= now)?;
        self.end(worker);
        Some(worker)
    }
}

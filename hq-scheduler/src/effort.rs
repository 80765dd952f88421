use crate::Scheduler;

/// What the rounds since the last boot have looked at: counted, not timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// How often the rank of a queue was asked for, as far as ranks are kept.
    pub ranked: u64,
    /// How many queues were looked at for placement.
    pub visited: u64,
    /// How often it was found out whether a class fits on a worker, for all that have as much free.
    pub fit_tests: u64,
    /// How many ways were looked at, and tasks put in on trial, where too many combinations of tasks fit on workers to try all:
    /// bounded for each level of equal rank.
    pub combined: u64,
    /// How many lanes were looked at: to call tasks back, to withdraw them, or, where places are reserved, for what may be late.
    pub lanes: u64,
}

impl Effort {
    /// What came on top since `before`.
    #[must_use]
    pub const fn since(self, before: Self) -> Self {
        Self {
            ranked: self.ranked - before.ranked,
            visited: self.visited - before.visited,
            fit_tests: self.fit_tests - before.fit_tests,
            combined: self.combined - before.combined,
            lanes: self.lanes - before.lanes,
        }
    }
}

impl Scheduler {
    /// What the rounds since the last boot have looked at.
    pub fn effort(&self) -> Effort {
        let combined = self.mind.effort.combined + self.mind.looks.get();
        Effort { fit_tests: self.mind.rooms.fit_tests(), combined, ..self.mind.effort }
    }

    /// Counts what was looked at.
    pub(crate) fn note_looks(&self, looks: u64) {
        self.mind.looks.set(self.mind.looks.get() + looks);
    }
}

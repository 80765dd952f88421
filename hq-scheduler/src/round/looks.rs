//! How much a level may look at to share its tasks out: work is bounded, and counted.

/// So much is looked at for one combination, then what was found counts.
pub(super) const LOOKS_MAX: u64 = 60_000;
/// The same for all workers of a level together.
const LEVEL_LOOKS_MAX: u64 = 12_000_000;

/// How many ways may still be looked at, and tasks put in on trial: both count alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct Looks {
    left: u64,
    used: u64,
}

impl Looks {
    /// For all workers of a level.
    pub(super) const fn for_level() -> Self {
        Self { left: LEVEL_LOOKS_MAX, used: 0 }
    }

    /// So many were used; what was begun may go a little beyond what was left.
    pub(super) const fn used(&self) -> u64 {
        self.used
    }

    pub(super) const fn left(&self) -> u64 {
        self.left
    }

    pub(super) const fn is_over(&self) -> bool {
        self.left == 0
    }

    pub(super) const fn spend(&mut self, n: u64) {
        self.left = self.left.saturating_sub(n);
        self.used = self.used.saturating_add(n);
    }

    /// Does something that may use up to `most` of these.
    pub(super) fn part<T>(&mut self, most: u64, run: impl FnOnce(&mut Self) -> T) -> T {
        let mut part = Self { left: most.min(self.left), used: 0 };
        let out = run(&mut part);
        self.spend(part.used);
        out
    }
}

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use hq_scheduler::policy::{Order, PassRule, Placement, PlacementKey, QueueView, Rank, SlotView};

/// How often policies were asked: what a pass looked at, counted from outside.
#[derive(Debug, Default)]
pub struct Asked {
    ranks: AtomicU64,
    keys: AtomicU64,
}

impl Asked {
    /// Calls for ranks and keys since the last time.
    pub fn take(&self) -> (u64, u64) {
        (self.ranks.swap(0, Ordering::Relaxed), self.keys.swap(0, Ordering::Relaxed))
    }
}

/// A policy that counts how often it is asked: by priority, on the worker with the fewest lanes.
#[derive(Clone, Debug)]
pub struct Counting(pub Arc<Asked>);

impl Order for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn rank(&self, queue: &QueueView) -> Rank {
        self.0.ranks.fetch_add(1, Ordering::Relaxed);
        (-i64::from(queue.priority), 0)
    }

    fn pass_rule(&self) -> PassRule {
        PassRule::Gap
    }
}

impl Placement for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn key(&self, slot: &SlotView<'_>) -> PlacementKey {
        self.0.keys.fetch_add(1, Ordering::Relaxed);
        (slot.lanes as i64, 0)
    }
}

/// I23: what a pass looks at depends on how many classes wait and how many tasks start, not on how many wait.
///
/// # Errors
/// Where more were asked with more tasks.
pub fn same_cost(few: (u64, u64), many: (u64, u64)) -> Result<(), String> {
    if few != many {
        return Err(format!("I23 cost: with few tasks {few:?} ranks and keys, with many {many:?}"));
    }
    Ok(())
}

use super::{Order, PassRule, QueueView, Rank};

/// Strict priorities; within one priority the value of a placement decides; gaps are filled.
#[derive(Clone, Copy, Debug, Default)]
pub struct Priority;

impl Order for Priority {
    fn name(&self) -> &'static str {
        "priority"
    }

    fn rank(&self, queue: &QueueView) -> Rank {
        (-i64::from(queue.priority), 0)
    }

    fn keeps_ranks(&self) -> bool {
        true
    }

    fn pass_rule(&self) -> PassRule {
        PassRule::Gap
    }
}

use super::{Order, PassRule, QueueView, Rank, order::part};

/// First come, first served: submit order alone, nothing overtakes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fcfs;

impl Order for Fcfs {
    fn name(&self) -> &'static str {
        "fcfs"
    }

    fn rank(&self, queue: &QueueView) -> Rank {
        (part(queue.head.0), 0)
    }

    fn keeps_ranks(&self) -> bool {
        true
    }

    fn stride(&self, queue: &QueueView) -> u64 {
        queue.head_run
    }

    fn pass_rule(&self) -> PassRule {
        PassRule::Strict
    }
}

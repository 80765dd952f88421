use hq_core::Tick;

use super::{Order, PassRule, QueueView, Rank, ageing, order::part};

/// Who has had least of the cluster goes first; among equals, and within one owner, the task that came first.
///
/// What was used is forgotten over time, and what is held counts as if it were kept for another minute: owners who have
/// had the same get their tasks started in turn. Tasks of nobody count as one owner's. What is first and has no room has the same
/// patience as by [`Sjf`](super::Sjf): then it has a reservation.
#[derive(Clone, Copy, Debug)]
pub struct FairShare {
    name: &'static str,
    used: fn(&QueueView) -> hq_core::Span,
}

impl FairShare {
    /// Between users.
    pub const USERS: Self = Self { name: "fair-share", used: |queue| queue.used_by_user };
    /// Between projects, whoever works for them.
    pub const PROJECTS: Self = Self { name: "fair-share-projects", used: |queue| queue.used_by_project };
}

impl Order for FairShare {
    fn name(&self) -> &str {
        self.name
    }

    fn rank(&self, queue: &QueueView) -> Rank {
        (part((self.used)(queue).0), part(queue.head.0))
    }

    /// One at a time, since each start changes what its owner has.
    fn stride(&self, _: &QueueView) -> u64 {
        1
    }

    fn pass_rule(&self) -> PassRule {
        PassRule::Free
    }

    fn pass_rule_of(&self, blocked: &QueueView) -> PassRule {
        ageing::pass_rule_of(blocked)
    }

    fn changes_at(&self, queue: &QueueView) -> Option<Tick> {
        ageing::changes_at(queue)
    }
}

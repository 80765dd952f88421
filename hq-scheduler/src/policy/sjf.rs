use hq_core::Tick;

use super::{Order, PassRule, QueueView, Rank, ageing, order::part};

/// Shortest expected run first: as declared, else as measured.
///
/// *Ageing*: a task goes before all that come later by more than its own expected run, so that a stream of short ones
/// overtakes a long one for that long at most. *Patience*: what is first and has no room is passed by anything, until it has
/// waited ten times its expected run and ten minutes; from then on it has a reservation ([`PassRule::Shadow`]). What nobody
/// knows anything about counts as an hour.
///
/// Ranks do not depend on the present; measured means change them as tasks end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sjf;

impl Order for Sjf {
    fn name(&self) -> &'static str {
        "sjf"
    }

    /// Shorter by as much as it has waited longer than others.
    fn rank(&self, queue: &QueueView) -> Rank {
        (part(queue.submitted.after(ageing::expected(queue)).0), part(queue.head.0))
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

use hq_core::Span;

use super::{Order, PassRule, QueueView, Rank, order::part};

/// Shortest expected run first: as declared, else as measured.
///
/// *Ageing*: a task goes before all that come later by more than its own expected run, so that a stream of short ones
/// overtakes a long one for that long at most. *Patience*: what is first and has no room is passed by anything, until it has
/// waited ten times its expected run and ten minutes; from then on it has a reservation ([`PassRule::Shadow`]), so that
/// a wide task does not wait for ever for workers that are never free at once. What nobody knows anything about
/// counts as an hour.
///
/// Ranks do not depend on the present; measured means change them as tasks end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sjf;

const UNKNOWN: Span = Span::secs(3600);
const PATIENCE_MIN: Span = Span::secs(600);

impl Sjf {
    fn expected(queue: &QueueView) -> Span {
        queue.expected_run().unwrap_or(UNKNOWN)
    }
}

impl Order for Sjf {
    fn name(&self) -> &'static str {
        "sjf"
    }

    /// Shorter by as much as it has waited longer than others.
    fn rank(&self, queue: &QueueView) -> Rank {
        (part(queue.submitted.after(Self::expected(queue)).0), part(queue.head.0))
    }

    fn pass_rule(&self) -> PassRule {
        PassRule::Free
    }

    fn pass_rule_of(&self, blocked: &QueueView) -> PassRule {
        let patience = Self::expected(blocked).times(10).max(PATIENCE_MIN);
        if blocked.waited() < patience { PassRule::Free } else { PassRule::Shadow }
    }
}

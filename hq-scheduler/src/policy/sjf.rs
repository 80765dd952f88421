use hq_core::{Span, Tick};

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

    fn patience(queue: &QueueView) -> Span {
        Self::expected(queue).times(10).max(PATIENCE_MIN)
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
        if blocked.waited() < Self::patience(blocked) { PassRule::Free } else { PassRule::Shadow }
    }

    /// When what has no room is not passed by anything any more.
    fn changes_at(&self, queue: &QueueView) -> Option<Tick> {
        let end = queue.submitted.after(Self::patience(queue));
        (queue.now < end).then_some(end)
    }
}

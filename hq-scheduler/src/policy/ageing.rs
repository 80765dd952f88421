//! What is first and has no room is passed by anything, until it has waited ten times its expected run and ten minutes; from then
//! on it has a reservation ([`PassRule::Shadow`]), so that a wide task does not wait for ever for workers that are never free at
//! once. What nobody knows anything about counts as an hour.

use hq_core::{Span, Tick};

use super::{PassRule, QueueView};

const UNKNOWN: Span = Span::secs(3600);
const PATIENCE_MIN: Span = Span::secs(600);

pub(super) fn expected(queue: &QueueView) -> Span {
    queue.expected_run().unwrap_or(UNKNOWN)
}

fn patience(queue: &QueueView) -> Span {
    expected(queue).times(10).max(PATIENCE_MIN)
}

pub(super) fn pass_rule_of(blocked: &QueueView) -> PassRule {
    if blocked.waited() < patience(blocked) { PassRule::Free } else { PassRule::Shadow }
}

/// When the rule becomes another.
pub(super) fn changes_at(queue: &QueueView) -> Option<Tick> {
    let end = queue.submitted.after(patience(queue));
    (queue.now < end).then_some(end)
}

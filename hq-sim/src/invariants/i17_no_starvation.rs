use std::collections::BTreeMap;

use hq_core::{Ordinal, Span, Tick};

use super::{
    Invariant, Step, What,
    waiting::{Waiting, waiting},
};

/// I17: what goes first by the order, and could run on a worker that is there, starts within a bound, however many smaller tasks
/// come after it all the time. The bound is the world's: how long its longest task runs, and some messages.
#[derive(Debug)]
pub struct NoStarvation {
    patience: Span,
    /// Since when the task that came first of each kind goes first.
    since: BTreeMap<Ordinal, Tick>,
}

impl NoStarvation {
    /// `patience`: how long whoever goes first may wait.
    pub const fn new(patience: Span) -> Self {
        Self { patience, since: BTreeMap::new() }
    }
}

impl Invariant for NoStarvation {
    fn name(&self) -> &'static str {
        "I17 no starvation"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        let What::Settled(_) = step.what else { return Ok(()) };
        let all = waiting(step.model);
        let mut first = BTreeMap::new();
        for needs in all.iter().filter(|needs| goes_first(step, &all, needs)) {
            let since = self.since.get(&needs.first).copied().unwrap_or(step.at);
            if step.at.since(since) > self.patience {
                return Err(format!(
                    "task {} goes first by {} and waits since {}",
                    needs.first,
                    step.model.order(),
                    since.0
                ));
            }
            first.insert(needs.first, since);
        }
        self.since = first;
        Ok(())
    }
}

/// Whether nothing that waits is of higher priority or, of the same priority, came earlier; and somebody could run it.
fn goes_first(step: &Step<'_>, all: &[Waiting<'_>], needs: &Waiting<'_>) -> bool {
    let rank = |waiting: &Waiting<'_>| (std::cmp::Reverse(waiting.priority()), waiting.first);
    let best = all.iter().map(rank).min();
    best == Some(rank(needs)) && step.model.workers.values().any(|worker| needs.could_use(worker, step.at))
}

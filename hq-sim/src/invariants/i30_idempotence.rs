use std::collections::BTreeSet;

use hq_core::{RunId, WorkerId};

use super::{Freshness, Invariant, Step, What};
use crate::hostile::is_whim;

/// I30: a message that is delivered twice has the effect of one: no fact follows from the second, and no worker begins a run
/// twice.
#[derive(Debug, Default)]
pub struct Idempotence {
    hears_again: bool,
    begun: BTreeSet<(WorkerId, RunId)>,
}

impl Invariant for Idempotence {
    fn name(&self) -> &'static str {
        "I30 idempotence"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        match step.what {
            What::Hears(_, freshness) => self.hears_again = freshness == Freshness::Doubled,
            What::Settled(_) | What::Restarted(_) => self.hears_again = false,
            What::Fact(record) if self.hears_again && !is_whim(step.model, &record.fact) => {
                return Err(format!("a message that was heard before caused {:?}", record.fact));
            }
            What::Started(worker, order) if !self.begun.insert((worker, order.run)) => {
                return Err(format!("worker {worker} begins run {} a second time", order.run));
            }
            _ => {}
        }
        Ok(())
    }
}

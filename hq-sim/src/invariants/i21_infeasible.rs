use std::collections::BTreeMap;

use hq_core::{Standing, Tick};

use super::{Invariant, Sample, Step, What, waiting::Waiting, waiting::lives_for, waiting::waiting};
use crate::model::{Model, ModelWorker};

/// I21: what no worker that is there could ever run is told to be so in the same step, and nothing else is.
#[derive(Debug, Default)]
pub struct Infeasible {
    sample: Sample,
}

/// One step in so many is looked at.
const EVERY: u64 = 32;

impl Invariant for Infeasible {
    fn name(&self) -> &'static str {
        "I21 infeasible"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        let What::Settled(core) = step.what else { return Ok(()) };
        if !self.sample.is_due(EVERY) {
            return Ok(());
        }
        for needs in waiting(step.model) {
            let Some(told) = core.explain(step.at, needs.first) else {
                return Err(format!("task {} waits, and nothing is told of it", needs.first));
            };
            let feasible = is_feasible(step.model, step.at, &needs);
            if told.is_feasible() != feasible || (told.standing == Standing::Infeasible) == feasible {
                let (first, standing) = (needs.first, told.standing);
                return Err(format!("task {first} could run: {feasible}; told: {standing:?}, {}", told.is_feasible()));
            }
        }
        Ok(())
    }
}

/// Whether some worker, or enough of one group, lives long enough and could run it when idle.
fn is_feasible(model: &Model, at: Tick, needs: &Waiting<'_>) -> bool {
    let able = model.workers.values().filter(|worker| needs.could_use(worker, at));
    let Some(gang) = needs.variants().get(0).filter(|request| request.nodes() > 0) else {
        return able.into_iter().next().is_some();
    };
    let lives = |worker: &&ModelWorker| worker.config.runs(needs.task.kind()) && lives_for(worker, at, gang);
    let mut groups: BTreeMap<&str, u32> = BTreeMap::new();
    for worker in model.workers.values().filter(lives) {
        *groups.entry(&worker.config.group).or_default() += 1;
    }
    groups.into_values().any(|members| members >= gang.nodes())
}

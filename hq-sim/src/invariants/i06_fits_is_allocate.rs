use std::collections::BTreeSet;

use hq_core::{Amount, Policy, Quantity, Request, ResourceKind, WorkerConfig};
use hq_scheduler::pool::Pools;

use super::{Invariant, Sample, Step, What};

/// I6: `allocate` finds a place exactly where there is one by plain counting, what it finds can be taken, and `fits_count`
/// agrees. A strict policy may refuse more than counting does.
#[derive(Debug, Default)]
pub struct FitsIsAllocate {
    sample: Sample,
}

/// Free states change slowly: one step in so many is looked at.
const EVERY: u64 = 16;

impl Invariant for FitsIsAllocate {
    fn name(&self) -> &'static str {
        "I6 fits is allocate"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        let What::Settled(core) = step.what else { return Ok(()) };
        if !self.sample.is_due(EVERY) {
            return Ok(());
        }
        let waiting =
            step.model.tasks.values().filter(|task| !task.state.is_end() && !task.profile().variants.is_gang());
        let requests: BTreeSet<&Request> = waiting.flat_map(|task| task.profile().variants.iter()).collect();
        for (id, worker) in &step.model.workers {
            let Some(pools) = core.pools(*id) else { continue };
            for request in &requests {
                check(&worker.config, pools, request).map_err(|what| format!("worker {id}, {request:?}: {what}"))?;
            }
        }
        Ok(())
    }
}

fn check(config: &WorkerConfig, pools: &Pools, request: &Request) -> Result<(), String> {
    let allocation = pools.allocate(request);
    if (pools.fits_count(request, 1) > 0) != allocation.is_some() {
        return Err("fits and allocate differ".to_owned());
    }
    if let Some(allocation) = &allocation
        && !pools.clone().take(allocation)
    {
        return Err(format!("what is allocated cannot be taken: {allocation:?}"));
    }
    let counted =
        request.entries().iter().all(|entry| has_room(config, pools, entry.resource.as_str(), entry.quantity));
    let is_strict = request
        .entries()
        .iter()
        .any(|entry| matches!(entry.quantity, Quantity::Amount(_, Policy::ForceCompact | Policy::ForceTight)));
    match (counted, allocation.is_some()) {
        (true, false) if !is_strict => Err("there is room and nothing is allocated".to_owned()),
        (false, true) => Err("there is no room and something is allocated".to_owned()),
        _ => Ok(()),
    }
}

/// By counting free indices and the largest free part.
fn has_room(config: &WorkerConfig, pools: &Pools, name: &str, quantity: Quantity) -> bool {
    let Some(def) = config.resources.get(name) else { return false };
    let amount = match quantity {
        Quantity::All => return pools.free(name) == def.kind.total(),
        Quantity::Amount(amount, _) => amount,
    };
    if let ResourceKind::Sum { .. } = &def.kind {
        return amount <= pools.free(name);
    }
    let count: u32 = def.kind.group_sizes().iter().sum();
    let free: Vec<u64> = (0..count).map(|index| pools.free_of_index(name, index).parts()).collect();
    let whole = free.iter().filter(|free| **free == Amount::PARTS).count() as u64;
    let has_part = free.iter().any(|free| *free < Amount::PARTS && *free >= amount.fraction());
    let needed = amount.whole() + u64::from(amount.fraction() > 0 && !has_part);
    needed <= whole
}

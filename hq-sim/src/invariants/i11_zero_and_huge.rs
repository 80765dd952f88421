use hq_core::{Allocation, Fact, Quantity, Request, WorkerConfig};

use super::{Invariant, Step, What};

/// I11: a grant is exactly what was asked for: nothing where nothing was asked, all of a resource where all was; no request for
/// more than a worker has is granted there, however large.
///
/// That sums are checked, that absurd numbers are refused at the border, and that what asks for nothing is in nobody's way, is
/// for properties to show.
#[derive(Debug, Default)]
pub struct ZeroAndHuge;

impl Invariant for ZeroAndHuge {
    fn name(&self) -> &'static str {
        "I11 zero and huge"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        let What::Fact(record) = step.what else { return Ok(()) };
        let Fact::GrantOpened { grant, workers, variant, allocation, tasks, .. } = &record.fact else { return Ok(()) };
        let task = tasks.first().and_then(|range| step.model.tasks.get(&range.start));
        let request = task.and_then(|task| task.request(*variant));
        let worker = workers.first().and_then(|id| step.model.workers.get(id));
        let (Some(request), Some(worker)) = (request, worker) else { return Ok(()) };
        check(&worker.config, request, allocation).map_err(|what| format!("grant {grant}: {what}"))
    }
}

fn check(config: &WorkerConfig, request: &Request, allocation: &Allocation) -> Result<(), String> {
    if allocation.0.len() != request.entries().len() {
        return Err(format!("{request:?} gets {allocation:?}"));
    }
    for (entry, granted) in request.entries().iter().zip(&allocation.0) {
        let has = config.resources.get(entry.resource.as_str()).map(|def| def.kind.total());
        let asked = match entry.quantity {
            Quantity::Amount(amount, _) => Some(amount),
            Quantity::All => has,
        };
        if granted.resource != entry.resource || Some(granted.amount) != asked || asked > has {
            return Err(format!("{granted:?} is granted for {entry:?} of {has:?}"));
        }
    }
    Ok(())
}

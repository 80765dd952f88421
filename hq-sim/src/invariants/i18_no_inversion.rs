use hq_core::{Fact, GrantId, OrdinalRange, Quantity, Request, WorkerId};

use super::{
    Invariant, Step, What,
    waiting::{Waiting, waiting},
};
use crate::model::{ModelWorker, each};

/// I18: a task gets a place only where that takes nothing from one that goes first, waits, and has every worker held for it
/// that could run it.
///
/// By `fcfs` such a worker is closed to all others. By `priority` what the better tasks could never use of it is free for
/// others: what is left beside as many of them as fit on the whole worker. Tasks with variants, with `all`, and gangs are
/// left to the tables of the core.
#[derive(Debug, Default)]
pub struct NoInversion;

impl Invariant for NoInversion {
    fn name(&self) -> &'static str {
        "I18 no priority inversion"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        let What::Fact(record) = step.what else { return Ok(()) };
        match &record.fact {
            Fact::GrantOpened { grant, workers, variant, tasks, .. } if workers.len() == 1 => {
                check(step, *grant, workers[0], *variant, tasks)
            }
            // A lane that ran dry goes on: that is a decision, too.
            Fact::GrantExtended { grant, tasks } => match step.model.grants.get(grant) {
                Some(lane) if lane.tasks.is_empty() && lane.workers.len() == 1 => {
                    check(step, *grant, lane.workers[0], lane.variant, tasks)
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

fn check(
    step: &Step<'_>,
    grant: GrantId,
    worker_id: WorkerId,
    variant: u8,
    tasks: &[OrdinalRange],
) -> Result<(), String> {
    let model = step.model;
    let Some(id) = each(tasks).next() else { return Ok(()) };
    let (Some(task), Some(worker)) = (model.tasks.get(&id), model.workers.get(&worker_id)) else { return Ok(()) };
    let Some(low) = task.request(variant).filter(|request| request.nodes() == 0) else { return Ok(()) };
    let own = Waiting { task, first: id, count: 1 };
    let all = waiting(model);
    for high in &all {
        let same = high.variants() == own.variants() && high.task.kind() == task.kind();
        if same || high.is_before(&own, model) != Some(true) || !high.could_use(worker, step.at) {
            continue;
        }
        let capable = model.workers.values().filter(|worker| high.could_ever_use(worker)).count() as u64;
        let (Some(request), 1) = (plain(high), high.variants().count()) else { continue };
        let takes = match model.order() {
            "priority" => high.count >= capable && takes_from(step, grant, (worker_id, worker), request, low),
            _ => true,
        };
        if takes {
            return Err(format!(
                "task {id} gets a place on worker {worker_id} that task {} waits for: {low:?} before {request:?}",
                high.first
            ));
        }
    }
    Ok(())
}

/// The one request, if it says amounts of one worker.
fn plain<'a>(waiting: &Waiting<'a>) -> Option<&'a Request> {
    let request = waiting.variants().get(0).filter(|request| request.nodes() == 0)?;
    let plain = request.entries().iter().all(|entry| matches!(entry.quantity, Quantity::Amount(..)));
    plain.then_some(request)
}

/// Whether fewer of `high` fit beside what is there, once one of `low` is there as well, than on the whole worker.
fn takes_from(
    step: &Step<'_>,
    grant: GrantId,
    (id, worker): (WorkerId, &ModelWorker),
    high: &Request,
    low: &Request,
) -> bool {
    let amount = |request: &Request, name: &str, total: u64| {
        let entry = request.entries().iter().find(|entry| entry.resource.as_str() == name);
        entry.map_or(0, |entry| match entry.quantity {
            Quantity::Amount(amount, _) => amount.parts(),
            Quantity::All => total,
        })
    };
    let totals: Vec<(&str, u64)> = {
        let defs = worker.config.resources.resources().iter();
        defs.map(|def| (def.name.as_str(), def.kind.total().parts())).collect()
    };
    let counts = totals.iter().map(|(name, total)| total.checked_div(amount(high, name, *total)).unwrap_or(u64::MAX));
    let most = counts.min().unwrap_or(u64::MAX);
    if most == u64::MAX {
        return false; // It asks for nothing, so that nothing is in its way.
    }
    let is_high = |grant: &crate::model::ModelGrant| {
        let tasks = grant.tasks.iter().filter_map(|task| step.model.tasks.get(task));
        tasks.into_iter().next().is_some_and(|task| task.request(grant.variant) == Some(high))
    };
    let others = step.model.grants_of(id).filter(|(other, held)| *other != grant && !is_high(held));
    let held: Vec<&hq_core::Allocation> = others.map(|(_, held)| &held.allocation).collect();
    totals.iter().any(|(name, total)| {
        let granted = held.iter().flat_map(|allocation| &allocation.0).filter(|g| g.resource.as_str() == *name);
        let used: u64 = granted.map(|granted| granted.amount.parts()).sum();
        let low = amount(low, name, *total);
        low > 0 && used + low + most * amount(high, name, *total) > *total
    })
}

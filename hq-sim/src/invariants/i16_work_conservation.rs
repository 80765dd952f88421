use std::collections::BTreeMap;

use hq_core::{Blocker, Obstacle, Tick, WorkerId};
use hq_scheduler::Scheduler;

use super::{
    Invariant, Sample, Step, What,
    waiting::{Waiting, has_room, in_gangs, lives_for, waiting},
};
use crate::model::{Model, ModelWorker};

/// I16: when a step is over, nothing that waits fits on a worker that has room for it, save for the sake of something that
/// waits, could use this worker, and goes first by the order that decides; and then it is told for whose.
#[derive(Debug, Default)]
pub struct WorkConservation {
    sample: Sample,
}

/// One step in so many is looked at.
const EVERY: u64 = 32;

impl Invariant for WorkConservation {
    fn name(&self) -> &'static str {
        "I16 work conservation"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        let What::Settled(core) = step.what else { return Ok(()) };
        if !self.sample.is_due(EVERY) {
            return Ok(());
        }
        let all = waiting(step.model);
        all.iter().try_for_each(|needs| check(core, step.model, step.at, &all, needs))
    }
}

fn check(core: &Scheduler, model: &Model, at: Tick, all: &[Waiting<'_>], needs: &Waiting<'_>) -> Result<(), String> {
    let excused = |worker: &ModelWorker| {
        let others = all.iter().filter(|other| !std::ptr::eq(*other, needs) && other.could_use(worker, at));
        others.into_iter().any(|other| other.is_before(needs, model).unwrap_or(true))
    };
    let gangs = in_gangs(model);
    let free = model.workers.iter().filter(|(id, _)| !gangs.contains(id));
    if needs.variants().is_gang() {
        let Some(request) = needs.variants().get(0) else { return Ok(()) };
        let mut idle: BTreeMap<&str, Vec<WorkerId>> = BTreeMap::new();
        for (id, worker) in free {
            let is_idle = model.grants_of(*id).next().is_none() && worker.config.runs(needs.task.kind());
            if is_idle && lives_for(worker, at, request) && !excused(worker) {
                idle.entry(&worker.config.group).or_default().push(*id);
            }
        }
        return match idle.values().find(|members| members.len() >= request.nodes() as usize) {
            Some(members) if members.iter().any(|member| holder(core, model, at, needs, *member).is_some()) => Ok(()),
            Some(members) => Err(format!("a gang waits, first task {}, and workers {members:?} are idle", needs.first)),
            None => Ok(()),
        };
    }
    for (id, worker) in free.filter(|(id, worker)| has_room(core, (**id, worker), at, needs)) {
        if excused(worker) {
            is_named(core, model, at, needs, *id)?;
        } else if holder(core, model, at, needs, *id).is_none() {
            return Err(format!(
                "{} tasks wait by {} and {}, first {}, and worker {id} has room: {:?}",
                needs.count,
                model.order(),
                model.placement(),
                needs.first,
                needs.variants()
            ));
        }
    }
    Ok(())
}

/// Whoever is kept off a worker is told for whose sake.
fn is_named(core: &Scheduler, model: &Model, at: Tick, needs: &Waiting<'_>, worker: WorkerId) -> Result<(), String> {
    // Of another order it is not known here whether the one that waits as well goes first.
    if needs.is_before(needs, model).is_none() || holder(core, model, at, needs, worker).is_some() {
        return Ok(());
    }
    let told = core.explain(at, needs.first);
    let fit = told.as_ref().and_then(|told| told.workers.iter().find(|fit| fit.worker == worker));
    Err(format!("task {} is kept off worker {worker}, and it is not told for whom: {fit:?}", needs.first))
}

/// For whom a worker is held, as the core says: where priority decides, for nobody of less; an equal may be overdue.
fn holder(core: &Scheduler, model: &Model, at: Tick, needs: &Waiting<'_>, worker: WorkerId) -> Option<Blocker> {
    let told = core.explain(at, needs.first)?;
    let Some(Obstacle::Held { by }) = told.workers.iter().find(|fit| fit.worker == worker)?.obstacle else {
        return None;
    };
    let by_priority = model.order() == "priority";
    told.blockers.get(by as usize).filter(|blocker| !by_priority || blocker.priority >= needs.priority()).cloned()
}

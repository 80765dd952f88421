use hq_core::{GrantId, Tick};
use hq_scheduler::Scheduler;

use super::{
    Invariant, Sample, Step, What,
    waiting::{Waiting, has_room, in_gangs, lives_for, waiting},
};
use crate::model::{Model, ModelGrant, ModelTask};

/// I19: when a step is over, no lane keeps tasks to itself that another worker could start now, nor tasks that it may not start
/// any more itself: they are being called back.
#[derive(Debug, Default)]
pub struct Backlogs {
    sample: Sample,
}

/// One step in so many is looked at.
const EVERY: u64 = 32;

impl Invariant for Backlogs {
    fn name(&self) -> &'static str {
        "I19 backlogs"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        let What::Settled(core) = step.what else { return Ok(()) };
        if !self.sample.is_due(EVERY) {
            return Ok(());
        }
        let all = waiting(step.model);
        let gangs = in_gangs(step.model);
        for (id, lane) in step.model.grants.iter().filter(|(_, lane)| !lane.is_gang) {
            let Some(spare) = spare(step.model, lane).filter(|_| !core.is_called_back(*id)) else { continue };
            if is_late(step.model, lane, spare, step.at) {
                return Err(format!("lane {id} keeps task {} and may not start it any more", spare.first));
            }
            let alike =
                |other: &Waiting<'_>| other.variants() == spare.variants() && other.task.kind() == spare.task.kind();
            // What waits outside goes first; and whoever is called back, may be enough.
            if all.iter().any(alike) || is_served(core, step.model, spare) {
                continue;
            }
            let free = step.model.workers.iter().filter(|(worker, _)| !gangs.contains(worker));
            let room = free.into_iter().find(|(id, worker)| {
                let held = all.iter().any(|other| other.could_use(worker, step.at));
                !held && has_room(core, (**id, worker), step.at, &spare)
            });
            if let Some((worker, _)) = room {
                return Err(format!("lane {id} keeps task {}, which worker {worker} could start", spare.first));
            }
        }
        Ok(())
    }
}

/// What a lane has beyond the task that runs or may just be starting.
fn spare<'a>(model: &'a Model, lane: &ModelGrant) -> Option<Waiting<'a>> {
    let open = lane.tasks.iter().filter_map(|id| Some((*id, model.tasks.get(id)?)));
    let mut open = open.filter(|(id, task)| !task.state.is_end() && lane.running != Some(*id));
    let begins: usize = if lane.running.is_some() { 0 } else { 1 };
    let (first, task): (_, &ModelTask) = open.nth(begins)?;
    Some(Waiting { task, first, count: 1 })
}

fn is_late(model: &Model, lane: &ModelGrant, spare: Waiting<'_>, at: Tick) -> bool {
    let worker = lane.workers.first().and_then(|worker| model.workers.get(worker));
    let request = spare.task.request(lane.variant);
    // At the very moment of the limit its timer may still be to come.
    worker.zip(request).is_some_and(|(worker, request)| !lives_for(worker, Tick(at.0.saturating_sub(1)), request))
}

/// Whether some lane with such tasks is being called back.
fn is_served(core: &Scheduler, model: &Model, spare: Waiting<'_>) -> bool {
    let alike = |lane: &ModelGrant| {
        let first = lane.tasks.first().and_then(|task| model.tasks.get(task));
        first.is_some_and(|task| task.profile().variants == *spare.variants() && task.kind() == spare.task.kind())
    };
    let called_back = |(id, lane): (&GrantId, &ModelGrant)| alike(lane) && core.is_called_back(*id);
    model.grants.iter().any(called_back)
}

use std::collections::BTreeSet;

use hq_core::{Fact, Ordinal, OrdinalRange, TaskState};

use super::{Invariant, Step, What};
use crate::model::each;

/// I3: a task is in at most one grant, a gang is a set of different workers, and what the core says of a running task is what
/// the grant says. A run that begins belongs to its grant, and to its worker.
#[derive(Debug, Default)]
pub struct OnePlace {
    touched: BTreeSet<Ordinal>,
}

impl Invariant for OnePlace {
    fn name(&self) -> &'static str {
        "I3 one place"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        match step.what {
            What::Fact(record) => match &record.fact {
                Fact::GrantOpened { grant, workers, tasks, .. } => {
                    if step.model.grants.contains_key(grant) {
                        return Err(format!("grant {grant} is opened twice"));
                    }
                    if workers.is_empty() || workers.iter().collect::<BTreeSet<_>>().len() != workers.len() {
                        return Err(format!("grant {grant} is given to workers {workers:?}"));
                    }
                    is_free(step, tasks)?;
                }
                Fact::GrantExtended { grant, tasks } => {
                    if !step.model.grants.contains_key(grant) {
                        return Err(format!("grant {grant} is extended and not open"));
                    }
                    is_free(step, tasks)?;
                }
                Fact::TaskStarted { task, .. } => _ = self.touched.insert(*task),
                _ => {}
            },
            What::Started(worker, order) => {
                // Of one that is closed for the books the worker may not know yet.
                let Some(grant) = step.model.grants.get(&order.run.grant) else { return Ok(()) };
                if grant.workers.first() != Some(&worker) {
                    return Err(format!("run {} begins on worker {worker}, and not on {:?}", order.run, grant.workers));
                }
                if !grant.tasks.contains(&order.run.task) {
                    return Err(format!("run {} begins and does not belong to its grant any more", order.run));
                }
            }
            What::Settled(core) => {
                for id in std::mem::take(&mut self.touched) {
                    let Some(task) = step.model.tasks.get(&id).filter(|task| task.state == TaskState::Running) else {
                        continue;
                    };
                    let grant = task.grant.and_then(|id| step.model.grants.get(&id));
                    let main = grant.and_then(|grant| grant.workers.first());
                    let said = core.task(id).and_then(|view| view.workers.first().copied());
                    let holder = task.grant.and_then(|grant| core.grant_worker(grant));
                    if main.is_none() || main != said.as_ref() || main != holder.as_ref() {
                        return Err(format!(
                            "task {id} runs on {main:?}, the core says {said:?}, its grant {holder:?}"
                        ));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn is_free(step: &Step<'_>, tasks: &[OrdinalRange]) -> Result<(), String> {
    for id in each(tasks) {
        let task = step.model.tasks.get(&id).ok_or_else(|| format!("task {id} is granted and does not exist"))?;
        if let Some(grant) = task.grant {
            return Err(format!("task {id} is granted while grant {grant} has it"));
        }
    }
    Ok(())
}

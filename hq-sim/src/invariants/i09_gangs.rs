use std::collections::BTreeSet;

use hq_core::{Fact, WorkerId, WorkerRuntime};

use super::{Invariant, Step, What};
use crate::model::each;

/// I9: a gang gets as many idle workers of one group as it asks for, at once; nothing else is placed on them; when the main one
/// is lost, the others are free in the same step. (When another one is lost, the gang goes on without it.)
#[derive(Debug, Default)]
pub struct Gangs {
    /// Members of a gang whose main worker was lost in this step.
    freed: BTreeSet<WorkerId>,
}

impl Invariant for Gangs {
    fn name(&self) -> &'static str {
        "I9 gangs"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        match step.what {
            What::Fact(record) => match &record.fact {
                Fact::GrantOpened { grant, workers, variant, tasks, .. } => {
                    let task = each(tasks).next().and_then(|task| step.model.tasks.get(&task));
                    let nodes = task.and_then(|task| task.request(*variant)).map_or(0, |request| request.nodes());
                    if workers.len() != nodes.max(1) as usize {
                        return Err(format!("grant {grant} of {nodes} nodes is given to workers {workers:?}"));
                    }
                    let groups: BTreeSet<Option<&str>> = workers
                        .iter()
                        .map(|id| step.model.workers.get(id).map(|worker| worker.config.group.as_str()))
                        .collect();
                    if groups.len() != 1 || groups.contains(&None) {
                        return Err(format!("gang {grant} is spread over groups {groups:?}"));
                    }
                    for worker in workers {
                        if step.model.grants_of(*worker).any(|(_, other)| nodes > 0 || other.is_gang) {
                            return Err(format!("grant {grant} shares worker {worker} with a gang"));
                        }
                        self.freed.remove(worker);
                    }
                }
                Fact::GrantExtended { grant, .. }
                    if step.model.grants.get(grant).is_some_and(|grant| grant.is_gang) =>
                {
                    return Err(format!("gang {grant} gets a second task"));
                }
                Fact::WorkerLost { worker, .. } => {
                    for (_, gang) in
                        step.model.grants_of(*worker).filter(|(_, grant)| grant.workers.first() == Some(worker))
                    {
                        self.freed.extend(&gang.workers[1..]);
                    }
                    self.freed.remove(worker);
                }
                _ => {}
            },
            What::Settled(core) => {
                for worker in std::mem::take(&mut self.freed) {
                    if let Some(WorkerRuntime::Gang { .. }) = core.worker(worker).and_then(|worker| worker.runtime) {
                        return Err(format!("worker {worker} is held by a gang that has lost its main worker"));
                    }
                }
            }
            What::Restarted(_) => self.freed.clear(),
            _ => {}
        }
        Ok(())
    }
}

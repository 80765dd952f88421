use std::collections::BTreeSet;

use hq_core::{Fact, Ordinal, OrdinalRange};

use super::{Invariant, Step, What};
use crate::model::each;

/// I29: a task that was cancelled before it was granted to anyone is never granted, sent or started afterwards.
#[derive(Debug, Default)]
pub struct CanceledStay {
    spared: BTreeSet<Ordinal>,
}

impl Invariant for CanceledStay {
    fn name(&self) -> &'static str {
        "I29 cancel"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        match step.what {
            What::Fact(record) => match &record.fact {
                Fact::TasksCanceled { tasks } => {
                    let is_spared = |id: &Ordinal| step.model.tasks.get(id).is_some_and(|task| !task.was_granted);
                    self.spared.extend(each(tasks).filter(is_spared));
                }
                Fact::GrantOpened { tasks, .. } | Fact::GrantExtended { tasks, .. } => {
                    self.none_of(tasks, "granted")?
                }
                Fact::TaskStarted { task, .. } => self.none_of(&[OrdinalRange::one(*task)], "started")?,
                Fact::TasksFinished { ends, .. } => self.none_of(&ends.tasks, "finished")?,
                _ => {}
            },
            What::Started(worker, order) if self.spared.contains(&order.run.task) => {
                return Err(format!("run {} starts on worker {worker}, though it was cancelled before", order.run));
            }
            // Whether the cancel was kept depends on what was safe.
            What::Restarted(_) => {
                self.spared.retain(|id| step.model.tasks.get(id).is_some_and(|task| task.state.is_end()))
            }
            _ => {}
        }
        Ok(())
    }
}

impl CanceledStay {
    fn none_of(&self, tasks: &[OrdinalRange], what: &str) -> Result<(), String> {
        match each(tasks).find(|task| self.spared.contains(task)) {
            Some(task) => Err(format!("task {task} is {what} after it was cancelled before its first grant")),
            None => Ok(()),
        }
    }
}

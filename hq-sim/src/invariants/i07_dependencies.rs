use std::collections::BTreeSet;

use hq_core::{DepKind, Fact, Ordinal, OrdinalRange};

use super::{Invariant, Step, What};
use crate::model::each;

/// I7: a task is granted only after each end it needs, by kind of edge; one that can never run ends in the same step, and no
/// other is aborted unless its job failed too often.
#[derive(Debug, Default)]
pub struct Dependencies {
    /// New tasks, and those that wait for a task that has just ended.
    suspects: BTreeSet<Ordinal>,
}

impl Invariant for Dependencies {
    fn name(&self) -> &'static str {
        "I7 dependencies"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        match step.what {
            What::Fact(record) => match &record.fact {
                Fact::Submitted { base, submit, .. } => {
                    self.suspects.extend(OrdinalRange::new(*base, submit.ids.count()).iter());
                }
                Fact::GrantOpened { tasks, .. } | Fact::GrantExtended { tasks, .. } => {
                    for id in each(tasks) {
                        if step.model.tasks.get(&id).is_some_and(|task| !task.is_ready(step.model)) {
                            return Err(format!("task {id} is granted before all it waits for has ended"));
                        }
                    }
                }
                Fact::TasksFinished { ends, .. } => self.ended(step, each(&ends.tasks)),
                Fact::TaskFailed { task, .. } => self.ended(step, [*task]),
                Fact::TasksCanceled { tasks } => self.ended(step, each(tasks)),
                Fact::TasksAborted { tasks } => {
                    // Each waits for earlier ones only, so that those doomed by others of the same fact come behind them.
                    let mut aborted = BTreeSet::new();
                    for task in each(tasks).collect::<BTreeSet<_>>() {
                        if !may_be_aborted(step, task, &aborted) {
                            return Err(format!("task {task} is aborted and could still run"));
                        }
                        aborted.insert(task);
                    }
                    self.ended(step, each(tasks));
                }
                _ => {}
            },
            What::Settled(_) => {
                for id in std::mem::take(&mut self.suspects) {
                    if step.model.tasks.get(&id).is_some_and(|task| !task.state.is_end() && task.is_doomed(step.model))
                    {
                        return Err(format!("task {id} can never run and has not ended"));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Dependencies {
    fn ended(&mut self, step: &Step<'_>, tasks: impl IntoIterator<Item = Ordinal>) {
        for task in tasks.into_iter().filter_map(|task| step.model.tasks.get(&task)) {
            self.suspects.extend(&task.awaited_by);
        }
    }
}

/// `aborted`: what is aborted by the same fact.
fn may_be_aborted(step: &Step<'_>, id: Ordinal, aborted: &BTreeSet<Ordinal>) -> bool {
    let Some(task) = step.model.tasks.get(&id) else { return false };
    let max_fails = step.model.jobs.get(&task.job).and_then(|job| job.max_fails);
    let by_these = task.waits_for.iter().any(|(on, kind)| *kind != DepKind::AnyEnd && aborted.contains(on));
    task.is_doomed(step.model)
        || by_these
        || max_fails.is_some_and(|max| step.model.counts(task.job).failed > u64::from(max))
}

use std::collections::BTreeSet;

use hq_core::{Fact, GrantId, JobId, Ordinal, TaskState};

use super::{Invariant, Step, What};
use crate::model::each;

/// I4: a task goes from waiting to running and back, and to one end; ends and counters of the core are those of the facts.
#[derive(Debug, Default)]
pub struct LegalTransitions {
    touched: BTreeSet<Ordinal>,
    jobs: BTreeSet<JobId>,
}

impl Invariant for LegalTransitions {
    fn name(&self) -> &'static str {
        "I4 legal transitions"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        match step.what {
            What::Fact(record) => self.fact(step, &record.fact),
            What::Settled(core) => {
                for job in std::mem::take(&mut self.jobs) {
                    let (own, core) = (step.model.counts(job), core.job(job).map(|job| job.counts));
                    if core.is_some_and(|core| core != own) || core.is_some() != step.model.jobs.contains_key(&job) {
                        return Err(format!("job {job}: the facts come to {own:?}, the core counts {core:?}"));
                    }
                }
                for id in std::mem::take(&mut self.touched) {
                    let own = step.model.tasks.get(&id).map(|task| task.state);
                    let core = core.task(id).map(|task| task.state);
                    if own != core {
                        return Err(format!("task {id}: by the facts {own:?}, by the core {core:?}"));
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl LegalTransitions {
    fn fact(&mut self, step: &Step<'_>, fact: &Fact) -> Result<(), String> {
        match fact {
            Fact::Submitted { job, .. } | Fact::JobOpened { job, .. } => _ = self.jobs.insert(*job),
            Fact::JobForgotten { job } => {
                let counts = step.model.counts(*job);
                if !counts.is_terminated() {
                    return Err(format!("job {job} is forgotten with {counts:?}"));
                }
                self.jobs.insert(*job);
            }
            Fact::GrantOpened { tasks, .. } | Fact::GrantExtended { tasks, .. } => {
                for task in each(tasks) {
                    self.touch(step, task, "granted", None, &[TaskState::Waiting])?;
                }
            }
            Fact::TaskStarted { grant, task, .. } => {
                self.touch(step, *task, "started", Some(*grant), &[TaskState::Waiting])?
            }
            Fact::TasksFinished { grant, ends } => {
                if ends.iter().count() as u64 != ends.tasks.iter().map(|range| range.len).sum::<u64>() {
                    return Err(format!("the columns of the ends in grant {grant} are damaged"));
                }
                for task in each(&ends.tasks) {
                    self.touch(step, task, "finished", Some(*grant), &[TaskState::Waiting, TaskState::Running])?;
                }
            }
            Fact::TaskFailed { grant, task, .. } => {
                self.touch(step, *task, "failed", *grant, &[TaskState::Waiting, TaskState::Running])?;
            }
            Fact::TaskRetried { grant, task, .. } => {
                let from: &[TaskState] = match grant {
                    Some(_) => &[TaskState::Waiting, TaskState::Running],
                    None => &[TaskState::Waiting],
                };
                self.touch(step, *task, "retried", *grant, from)?;
            }
            Fact::TasksCanceled { tasks } | Fact::TasksAborted { tasks } => {
                for task in each(tasks) {
                    self.touch(step, task, "ended by others", None, &[TaskState::Waiting, TaskState::Running])?;
                }
            }
            Fact::WorkerLost { .. } | Fact::WorkerAway { .. } | Fact::WorkerReturned { .. } | Fact::Boot { .. } => {
                for grant in step.model.grants.values().chain(step.model.suspended.values()) {
                    self.touched.extend(&grant.tasks);
                    self.jobs
                        .extend(grant.tasks.iter().filter_map(|task| step.model.tasks.get(task)).map(|task| task.job));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn touch(
        &mut self,
        step: &Step<'_>,
        id: Ordinal,
        what: &str,
        grant: Option<GrantId>,
        from: &[TaskState],
    ) -> Result<(), String> {
        let task = step.model.tasks.get(&id).ok_or_else(|| format!("task {id} is {what} and does not exist"))?;
        if !from.contains(&task.state) {
            return Err(format!("task {id} is {what} while it is {:?}", task.state));
        }
        if grant.is_some() && task.grant != grant {
            return Err(format!("task {id} is {what} by {grant:?} and held by {:?}", task.grant));
        }
        self.touched.insert(id);
        self.jobs.insert(task.job);
        Ok(())
    }
}

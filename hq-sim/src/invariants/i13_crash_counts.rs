use std::collections::{BTreeMap, BTreeSet};

use hq_core::{CrashLimit, Fact, GrantId, LossReason, Ordinal, Record, RetryOn, WorkerId};

use super::{Invariant, Step, What};
use crate::model::{Model, each};

/// I13: a task's crash count grows by one with each unexpected loss of the worker that runs it, and by nothing else; at its
/// limit it fails in the same step, and no other fails for that. The counts outlive a restart.
#[derive(Debug, Default)]
pub struct CrashCounts {
    lanes: BTreeMap<GrantId, Lane>,
    crashes: BTreeMap<Ordinal, u32>,
    /// Tasks that have to fail in this step.
    due: BTreeSet<Ordinal>,
}

#[derive(Debug)]
struct Lane {
    /// The main one.
    worker: WorkerId,
    /// As they were given.
    tasks: Vec<Ordinal>,
    running: Option<Ordinal>,
}

impl Invariant for CrashCounts {
    fn name(&self) -> &'static str {
        "I13 crash counts"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        match step.what {
            What::Fact(record) => {
                if let Fact::TaskFailed { grant: None, task, .. } = &record.fact
                    && !self.due.contains(task)
                    && !has_rule_of_loss(step.model, *task)
                {
                    return Err(format!("task {task} fails after {} crashes", self.count(*task)));
                }
                self.apply(record, step.model);
                Ok(())
            }
            What::Settled(_) => {
                for id in std::mem::take(&mut self.due) {
                    if step.model.tasks.get(&id).is_some_and(|task| !task.state.is_end()) {
                        return Err(format!("task {id} goes on after {} crashes", self.count(id)));
                    }
                }
                Ok(())
            }
            What::Restarted(records) => {
                *self = Self::default();
                let mut model = Model::default();
                for record in records {
                    self.apply(record, &model);
                    model.apply(record);
                }
                // What was cut short is made up for in the boot.
                self.due.retain(|task| model.tasks.get(task).is_some_and(|task| !task.state.is_end()));
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Whether a rule of its own may have let it fail at the loss of its worker.
fn has_rule_of_loss(model: &Model, task: Ordinal) -> bool {
    let rules = model.tasks.get(&task).map(|task| &task.profile().retry[..]).unwrap_or_default();
    rules.iter().any(|rule| matches!(rule.on, RetryOn::Crash | RetryOn::Preempted))
}

impl CrashCounts {
    fn count(&self, task: Ordinal) -> u32 {
        self.crashes.get(&task).copied().unwrap_or(0)
    }

    fn apply(&mut self, record: &Record, model: &Model) {
        match &record.fact {
            Fact::GrantOpened { grant, workers, tasks, .. } => {
                let worker = workers.first().copied().unwrap_or_default();
                self.lanes.insert(*grant, Lane { worker, tasks: each(tasks).collect(), running: None });
            }
            Fact::GrantExtended { grant, tasks } => {
                if let Some(lane) = self.lanes.get_mut(grant) {
                    lane.tasks.extend(each(tasks));
                }
            }
            Fact::GrantReturned { grant, tasks } => self.leave(*grant, each(tasks)),
            Fact::GrantClosed { grant } => _ = self.lanes.remove(grant),
            Fact::TaskStarted { grant, task, .. } => {
                if let Some(lane) = self.lanes.get_mut(grant) {
                    lane.running = Some(*task);
                }
            }
            Fact::TasksFinished { grant, ends } => self.leave(*grant, each(&ends.tasks)),
            Fact::TaskFailed { grant: Some(grant), task, .. }
            | Fact::TaskRetried { grant: Some(grant), task, .. }
            | Fact::TaskKilled { grant, task } => {
                self.leave(*grant, [*task]);
            }
            Fact::WorkerLost { worker, reason } => {
                let lost = |lane: &Lane| lane.worker == *worker;
                let grants: Vec<GrantId> = self.lanes.iter().filter(|(_, l)| lost(l)).map(|(id, _)| *id).collect();
                grants.into_iter().for_each(|grant| self.lose(grant, *reason, model));
            }
            Fact::WorkerReturned { worker, kept } => {
                let own = |lane: &Lane| lane.worker == *worker;
                let grants: Vec<GrantId> = self.lanes.iter().filter(|(_, l)| own(l)).map(|(id, _)| *id).collect();
                for grant in grants {
                    let Some(kept) = kept.iter().find(|kept| kept.grant == grant) else {
                        self.lanes.remove(&grant);
                        continue;
                    };
                    let tasks: BTreeSet<Ordinal> = each(&kept.tasks).collect();
                    let held = self.lanes.get(&grant).map(|lane| lane.tasks.clone()).unwrap_or_default();
                    self.leave(grant, held.into_iter().filter(|task| !tasks.contains(task)));
                }
            }
            Fact::Boot { .. } => {
                // Who may come back is not lost yet.
                let is_gone = |lane: &Lane| {
                    let known = model.workers.get(&lane.worker);
                    known.is_some_and(|worker| !worker.config.on_server_lost.reconnects())
                };
                let grants: Vec<GrantId> = self.lanes.iter().filter(|(_, l)| is_gone(l)).map(|(id, _)| *id).collect();
                grants.into_iter().for_each(|grant| self.lose(grant, LossReason::ServerEnded, model));
            }
            _ => {}
        }
    }

    fn leave(&mut self, grant: GrantId, tasks: impl IntoIterator<Item = Ordinal>) {
        let Some(lane) = self.lanes.get_mut(&grant) else { return };
        for task in tasks {
            lane.tasks.retain(|held| *held != task);
            lane.running.take_if(|running| *running == task);
        }
    }

    /// The first task of a lane counts as running: its start may not have been told.
    fn lose(&mut self, grant: GrantId, reason: LossReason, model: &Model) {
        let Some(lane) = self.lanes.remove(&grant) else { return };
        let Some(id) = lane.running.or_else(|| lane.tasks.first().copied()) else { return };
        let Some(task) = model.tasks.get(&id).filter(|task| !task.state.is_end()) else { return };
        if reason.is_crash() {
            *self.crashes.entry(id).or_default() += 1;
        }
        let fails = match task.profile().crash_limit {
            CrashLimit::NeverRestart => true,
            CrashLimit::Limit(limit) => self.count(id) >= u32::from(limit),
            CrashLimit::Unlimited => false,
        };
        if fails {
            self.due.insert(id);
        }
    }
}

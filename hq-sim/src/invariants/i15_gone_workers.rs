use std::collections::BTreeSet;

use hq_core::{Fact, LossReason, Ordinal, Span, ToWorker, WorkerId};

use super::{Invariant, Step, What};

/// I15: what a lost worker held waits again with its instance one higher, in the same step; nothing is given to a worker that
/// is gone; a worker that was given up for its silence starts nothing more.
#[derive(Debug, Default)]
pub struct GoneWorkers {
    delay: Span,
    touched: BTreeSet<Ordinal>,
    gone: BTreeSet<WorkerId>,
}

impl GoneWorkers {
    /// `delay`: the longest that a message is under way.
    pub fn new(delay: Span) -> Self {
        Self { delay, ..Self::default() }
    }
}

impl Invariant for GoneWorkers {
    fn name(&self) -> &'static str {
        "I15 gone workers"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        match step.what {
            What::Fact(record) => match &record.fact {
                Fact::WorkerLost { worker, .. } => {
                    if !step.model.workers.contains_key(worker) && !step.model.away.contains_key(worker) {
                        return Err(format!("worker {worker} is lost and was not there"));
                    }
                    self.gone.insert(*worker);
                    self.touched.extend(step.model.grants_of(*worker).flat_map(|(_, grant)| &grant.tasks));
                }
                Fact::Boot { .. } | Fact::WorkerAway { .. } | Fact::WorkerReturned { .. } => {
                    let all = step.model.grants.values().chain(step.model.suspended.values());
                    self.touched.extend(all.flat_map(|grant| &grant.tasks));
                }
                Fact::GrantOpened { grant, workers, .. } => {
                    if let Some(gone) = workers.iter().find(|worker| !step.model.workers.contains_key(worker)) {
                        return Err(format!("grant {grant} is given to worker {gone}, which is gone"));
                    }
                }
                _ => {}
            },
            What::Told(worker, ToWorker::Open(_) | ToWorker::OpenLanes(_) | ToWorker::Extend { .. })
                if !step.model.workers.contains_key(&worker) =>
            {
                return Err(format!("worker {worker} is gone and is told to work"));
            }
            What::Settled(core) => {
                for worker in std::mem::take(&mut self.gone) {
                    if core.worker(worker).is_some_and(|worker| worker.runtime.is_some()) {
                        return Err(format!("worker {worker} is gone and has a runtime"));
                    }
                }
                for id in std::mem::take(&mut self.touched) {
                    let (Some(task), Some(view)) = (step.model.tasks.get(&id), core.task(id)) else { continue };
                    if (view.state, view.instance) != (task.state, task.instance) {
                        let (own, core) = ((task.state, task.instance), (view.state, view.instance));
                        return Err(format!("task {id} of a lost worker: by the facts {own:?}, by the core {core:?}"));
                    }
                }
            }
            What::Started(worker, order) => {
                if let Some((at, LossReason::HeartbeatLost)) = step.model.lost.get(&worker)
                    && at.after(self.delay) < step.at
                {
                    return Err(format!(
                        "run {} starts on worker {worker}, which was given up for its silence",
                        order.run
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

use hq_core::{Fact, GrantId, OrdinalRange, Span, WorkerId};

use super::{Invariant, Step, What};
use crate::model::each;

/// I8: when a task is granted, each of its workers has at least the requested time left, by the server's clock; when it
/// really starts, the same but for the time that the grant was under way.
#[derive(Debug, Default)]
pub struct TimeLeft {
    delay: Span,
}

impl TimeLeft {
    /// `delay`: the longest that a message is under way.
    pub const fn new(delay: Span) -> Self {
        Self { delay }
    }
}

impl Invariant for TimeLeft {
    fn name(&self) -> &'static str {
        "I8 time"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        match step.what {
            What::Fact(record) => match &record.fact {
                Fact::GrantOpened { grant, workers, variant, tasks, .. } => {
                    granted(step, *grant, workers, *variant, tasks)
                }
                Fact::GrantExtended { grant, tasks } => match step.model.grants.get(grant) {
                    Some(lane) => granted(step, *grant, &lane.workers, lane.variant, tasks),
                    None => Ok(()),
                },
                _ => Ok(()),
            },
            What::Started(worker, order) => {
                let Some(deadline) = step.model.workers.get(&worker).and_then(|worker| worker.deadline()) else {
                    return Ok(());
                };
                let needed = order.lane.request.min_time();
                if step.at.after(needed) > deadline.after(self.delay) {
                    let left = deadline.since(step.at);
                    return Err(format!(
                        "run {} starts on worker {worker} with {left} left and needs {needed}",
                        order.run
                    ));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn granted(
    step: &Step<'_>,
    grant: GrantId,
    workers: &[WorkerId],
    variant: u8,
    tasks: &[OrdinalRange],
) -> Result<(), String> {
    for id in each(tasks) {
        let Some(request) = step.model.tasks.get(&id).and_then(|task| task.request(variant)) else { continue };
        for worker in workers {
            let deadline = step.model.workers.get(worker).and_then(|worker| worker.deadline());
            if deadline.is_some_and(|deadline| step.at >= deadline || deadline.since(step.at) < request.min_time()) {
                return Err(format!(
                    "task {id} needs {} and gets grant {grant} on worker {worker}",
                    request.min_time()
                ));
            }
        }
    }
    Ok(())
}

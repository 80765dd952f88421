use hq_core::{Ends, EventKind, Fact, Instance, JobTarget, LossReason, Ordinal, WorkerId};

use super::{book::JobBook, grants::GrantBook};

/// What the feed keeps of a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Story {
    /// An event as it is told.
    Told(EventKind),
    /// Ends that are told task by task only when somebody listens: nobody pays for them otherwise.
    Finished {
        /// The worker (of a gang: the main one).
        worker: WorkerId,
        /// The ends.
        ends: Ends,
    },
}

/// Puts what `fact` has to tell into `stories`. The books are those before the fact.
pub(super) fn tell(
    fact: &Fact,
    jobs: &JobBook,
    grants: &GrantBook,
    instance: impl FnOnce(Ordinal) -> Instance,
    stories: &mut Vec<Story>,
) {
    let event = match fact {
        Fact::Boot { server_uid, .. } => EventKind::ServerStarted { server_uid: server_uid.clone() },
        Fact::JobOpened { job, spec } => EventKind::JobOpened { job: *job, spec: spec.clone() },
        Fact::Submitted { job, submit, .. } => {
            let spec = match &submit.job {
                JobTarget::New(spec) => Some(spec.clone()),
                JobTarget::Attach(_) => None,
            };
            EventKind::JobSubmitted { job: *job, spec, tasks: submit.ids.count() }
        }
        Fact::JobClosed { job } => EventKind::JobClosed { job: *job },
        Fact::JobCanceled { job, reason } => EventKind::JobCanceled { job: *job, reason: reason.clone() },
        Fact::WorkerJoined { worker, config } => {
            EventKind::WorkerConnected { worker: *worker, config: std::sync::Arc::clone(config) }
        }
        // Workers that go with their server are nobody's loss.
        Fact::WorkerLost { reason: LossReason::ServerEnded, .. } => return,
        Fact::WorkerLost { worker, reason } => EventKind::WorkerLost { worker: *worker, reason: *reason },
        Fact::TaskStarted { grant, task, .. } => {
            let (Some((job, number)), Some(grant)) = (jobs.locate(*task), grants.get(*grant)) else { return };
            EventKind::TaskStarted {
                job,
                task: number,
                instance: instance(*task),
                variant: grant.variant,
                workers: grant.workers.clone(),
            }
        }
        Fact::TasksFinished { grant, ends } => {
            let worker = grants.get(*grant).and_then(|grant| grant.workers.first()).copied().unwrap_or_default();
            stories.push(Story::Finished { worker, ends: ends.clone() });
            return;
        }
        Fact::TaskFailed { task, error, .. } => {
            let Some((job, task)) = jobs.locate(*task) else { return };
            EventKind::TaskFailed { job, task, error: error.clone() }
        }
        Fact::TasksCanceled { tasks } => {
            let events = jobs.numbers(tasks).into_iter();
            stories.extend(events.map(|(job, tasks)| Story::Told(EventKind::TasksCanceled { job, tasks })));
            return;
        }
        Fact::TasksAborted { tasks } => {
            let events = jobs.numbers(tasks).into_iter();
            stories.extend(events.map(|(job, tasks)| Story::Told(EventKind::TasksAborted { job, tasks })));
            return;
        }
        _ => return,
    };
    stories.push(Story::Told(event));
}

impl Story {
    /// Roughly the bytes it takes.
    pub(super) fn size(&self) -> usize {
        128 + match self {
            Self::Finished { ends, .. } => ends.tasks.len() * 16 + ends.times.len(),
            Self::Told(event) => match event {
                EventKind::JobOpened { spec, .. } | EventKind::JobSubmitted { spec: Some(spec), .. } => spec.name.len(),
                EventKind::JobCanceled { reason: Some(text), .. } | EventKind::TaskFailed { error: text, .. } => {
                    text.len()
                }
                EventKind::TaskStarted { workers, .. } => workers.len() * 4,
                // Runs with their indexes.
                EventKind::TasksCanceled { tasks, .. } | EventKind::TasksAborted { tasks, .. } => {
                    tasks.runs().len() * 24
                }
                _ => 0,
            },
        }
    }
}

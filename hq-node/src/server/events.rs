use std::sync::Arc;

use hq_core::{Deps, EventKind, Fact, FailedRun, Instance, JobTarget, LossReason, Ordinal, Submit};

use super::{book::JobBook, grants::GrantBook, story::Story, wall::Wall};

/// Puts what `fact` has to tell into `stories`. The books are those before the fact.
pub(super) fn tell(
    fact: &Fact,
    jobs: &JobBook,
    grants: &GrantBook,
    wall: &Wall,
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
            EventKind::JobSubmitted { job: *job, spec, tasks: submit.ids.count(), submit: Arc::new(outline(submit)) }
        }
        Fact::JobClosed { job } => EventKind::JobClosed { job: *job },
        Fact::JobCanceled { job, reason } => EventKind::JobCanceled { job: *job, reason: reason.clone() },
        Fact::WorkerJoined { worker, config } => {
            EventKind::WorkerConnected { worker: *worker, config: Arc::clone(config) }
        }
        // Workers that go with their server are nobody's loss.
        Fact::WorkerLost { reason: LossReason::ServerEnded, .. } => return,
        Fact::WorkerLost { worker, reason } => EventKind::WorkerLost { worker: *worker, reason: *reason },
        Fact::WorkerOverview { worker, state } => EventKind::WorkerOverview { worker: *worker, state: state.clone() },
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
            let (workers, variant) =
                grants.get(*grant).map(|grant| (grant.workers.clone(), grant.variant)).unwrap_or_default();
            stories.push(Story::Finished { workers, variant, ends: ends.clone() });
            return;
        }
        Fact::TaskFailed { grant, task: ordinal, start, error } => {
            let Some((job, task)) = jobs.locate(*ordinal) else { return };
            let grant = grant.and_then(|grant| grants.get(grant));
            let run = grant.zip(*start).map(|(grant, start)| FailedRun {
                instance: instance(*ordinal),
                variant: grant.variant,
                workers: grant.workers.clone(),
                started: wall.of(start),
            });
            EventKind::TaskFailed { job, task, error: error.clone(), run }
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

/// A submit with what its first task has for itself and no other, so that it is small however many tasks it has.
fn outline(submit: &Submit) -> Submit {
    // Field by field, as the others are what must not be copied.
    let Submit { job, ids, kind, shared, parts, profiles, profile_of: _, deps: _, owner, after } = submit;
    Submit {
        job: job.clone(),
        ids: ids.clone(),
        kind: kind.clone(),
        shared: shared.clone(),
        parts: parts.slice(0, 1),
        profiles: profiles.first().cloned().into_iter().collect(),
        profile_of: vec![],
        deps: Deps::default(),
        owner: owner.clone(),
        after: after.clone(),
    }
}

use std::sync::Arc;

use hq_core::{
    Deps, Ends, EventKind, Fact, FailedRun, GrantId, Instance, JobTarget, LossReason, Ordinal, PastRuns, Submit,
    TaskState, Tick, WorkerId,
};
use hq_scheduler::view::TaskView;

use super::{book::JobBook, grants::GrantBook, story::Story, wall::Wall};

/// Puts what `fact` has to tell into `stories`. The books are those before the fact.
pub(super) fn tell(
    fact: &Fact,
    jobs: &JobBook,
    grants: &GrantBook,
    wall: &Wall,
    last: impl Fn(Ordinal) -> LastRun,
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
        // After a restart it is news that a worker of the life before is there.
        Fact::WorkerReturned { worker, .. } => {
            let Some(config) = grants.untold(*worker) else { return };
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
                instance: last(*task).instance,
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
            let run = failed_run(grants, wall, *grant, *start, || last(*ordinal).instance);
            EventKind::TaskFailed { job, task, error: error.clone(), run }
        }
        Fact::TaskRetried { grant, task: ordinal, start, until, error, .. } => {
            let Some((job, task)) = jobs.locate(*ordinal) else { return };
            let run = failed_run(grants, wall, *grant, *start, || before(last(*ordinal).instance));
            EventKind::TaskRetried { job, task, error: error.clone(), run, until: wall.of(*until) }
        }
        Fact::TasksCanceled { tasks } => {
            let events = jobs.numbers(tasks).into_iter();
            stories.extend(events.map(|(job, tasks)| Story::Told(EventKind::TasksCanceled { job, tasks })));
            return;
        }
        Fact::TasksRan { worker, variant, state, runs } => {
            tell_runs(jobs, *worker, *variant, *state, runs, wall, last, stories);
            return;
        }
        Fact::TasksAborted { tasks } => {
            let events = jobs.numbers(tasks).into_iter();
            stories.extend(events.map(|(job, tasks)| Story::Told(EventKind::TasksAborted { job, tasks })));
            return;
        }
        Fact::QueueCreated { queue, spec } => EventKind::QueueCreated { queue: *queue, spec: Arc::clone(spec) },
        Fact::QueueRemoved { queue } => EventKind::QueueRemoved { queue: *queue },
        Fact::AllocationQueued { queue, id, workers, .. } => {
            EventKind::AllocationQueued { queue: *queue, allocation: id.clone(), workers: *workers }
        }
        Fact::AllocationStarted { queue, id, .. } => {
            EventKind::AllocationStarted { queue: *queue, allocation: id.clone() }
        }
        Fact::AllocationEnded { queue, id: Some(id), .. } => {
            EventKind::AllocationFinished { queue: *queue, allocation: id.clone() }
        }
        _ => return,
    };
    stories.push(Story::Told(event));
}

/// The run of a lane that ended badly.
fn failed_run(
    grants: &GrantBook,
    wall: &Wall,
    grant: Option<GrantId>,
    start: Option<Tick>,
    instance: impl FnOnce() -> Instance,
) -> Option<FailedRun> {
    let grant = grants.get(grant?)?;
    let (variant, workers) = (grant.variant, grant.workers.clone());
    Some(FailedRun { instance: instance(), variant, workers, started: wall.of(start?) })
}

/// The instance before the one that is known: a run that is repeated has its successor already.
const fn before(instance: Instance) -> Instance {
    Instance(instance.0.saturating_sub(1))
}

/// What is known of the last run of a task.
#[derive(Debug, Default)]
pub(super) struct LastRun {
    instance: Instance,
    error: Option<String>,
}

impl LastRun {
    pub(super) fn of(task: TaskView<'_>) -> Self {
        Self { instance: task.instance, error: task.error.map(str::to_owned) }
    }
}

/// What a snapshot says of tasks: their last runs, and how these ended.
#[expect(clippy::too_many_arguments, reason = "what the fact says, and what is known")]
fn tell_runs(
    jobs: &JobBook,
    worker: WorkerId,
    variant: u8,
    state: TaskState,
    runs: &PastRuns,
    wall: &Wall,
    last: impl Fn(Ordinal) -> LastRun,
    stories: &mut Vec<Story>,
) {
    let workers = vec![worker];
    match state {
        TaskState::Waiting | TaskState::Running => {}
        TaskState::Finished => stories.push(Story::Finished { workers, variant, ends: Ends::new(runs.iter()) }),
        TaskState::Failed => stories.extend(runs.iter().filter_map(|end| {
            let (job, task) = jobs.locate(end.task)?;
            let LastRun { instance, error } = last(end.task);
            let started = wall.of(end.start);
            let run =
                (worker > WorkerId(0)).then(|| FailedRun { instance, variant, workers: workers.clone(), started });
            let error = error.unwrap_or_default();
            Some(Story::Told(EventKind::TaskFailed { job, task, error, run }))
        })),
        TaskState::Canceled | TaskState::Aborted => {
            let ranges: Vec<_> = runs.ranges().collect();
            let told = jobs.numbers(&ranges).into_iter().map(|(job, tasks)| match state {
                TaskState::Canceled => EventKind::TasksCanceled { job, tasks },
                _ => EventKind::TasksAborted { job, tasks },
            });
            stories.extend(told.map(Story::Told));
        }
    }
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

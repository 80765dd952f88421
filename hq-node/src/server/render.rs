use std::{collections::BTreeMap, sync::Arc};

use hq_core::{
    IdList, JobDetail, JobInfo, Ordinal, OrdinalRange, Parts, Submit, SubmitInfo, TaskIds, TaskInfo, TaskNumber, Tick,
    WorkerId, WorkerInfo, idlist::Run,
};
use hq_scheduler::{
    Scheduler,
    view::{JobView, WorkerView},
};

use super::{book::join, wall::Wall};

/// A job in a line.
pub(super) fn job_info(job: &JobView<'_>, wall: &Wall) -> JobInfo {
    JobInfo {
        id: job.id,
        spec: job.spec.clone(),
        is_open: job.is_open,
        counts: job.counts,
        cancel_reason: job.cancel_reason.map(str::to_owned),
        submitted: wall.of(job.created),
        ended: job.ended.map(|at| wall.of(at)),
    }
}

/// A job with all it is made of.
pub(super) fn job_detail(
    scheduler: &Scheduler,
    view: &JobView<'_>,
    wall: &Wall,
    server_uid: &str,
    bodies: bool,
) -> Option<JobDetail> {
    let tasks = scheduler.job_tasks(view.id)?;
    let submits = &view.submits;
    let mut recorded: Vec<TaskInfo> =
        tasks.recorded.iter().filter_map(|task| task_info(scheduler, submits, *task, wall)).collect();
    recorded.sort_by_key(|task| task.number);
    let rest = tasks.rest.iter().map(|(state, ranges)| (*state, numbers(submits, ranges))).collect();
    let ids = recorded.iter().flat_map(|task| task.workers.iter().copied());
    let name = |id: WorkerId| scheduler.worker(id).map(|worker| (id, worker.config.hostname.clone()));
    let workers: BTreeMap<WorkerId, String> = unique(ids).filter_map(name).collect();
    Some(JobDetail {
        info: job_info(view, wall),
        submits: submits
            .iter()
            .map(|(_, submit, at)| SubmitInfo { submitted: wall.of(*at), submit: shown(submit, bodies) })
            .collect(),
        tasks: recorded,
        rest,
        workers: workers.into_iter().collect(),
        server_uid: server_uid.to_owned(),
    })
}

fn unique(ids: impl Iterator<Item = WorkerId>) -> impl Iterator<Item = WorkerId> {
    ids.collect::<std::collections::BTreeSet<_>>().into_iter()
}

fn shown(submit: &Arc<Submit>, bodies: bool) -> Arc<Submit> {
    if bodies || submit.parts.is_empty() {
        return Arc::clone(submit);
    }
    // Field by field, as the parts are what must not be copied.
    let Submit { job, ids, kind, shared, parts: _, profiles, profile_of, deps, owner, after } = &**submit;
    Arc::new(Submit {
        job: job.clone(),
        ids: ids.clone(),
        kind: kind.clone(),
        shared: shared.clone(),
        parts: Parts::default(),
        profiles: profiles.clone(),
        profile_of: profile_of.clone(),
        deps: deps.clone(),
        owner: owner.clone(),
        after: after.clone(),
    })
}

type Submits<'a> = [(Ordinal, &'a Arc<Submit>, Tick)];

fn task_info(scheduler: &Scheduler, submits: &Submits<'_>, task: Ordinal, wall: &Wall) -> Option<TaskInfo> {
    let number = submit_of(submits, task).and_then(|(base, submit)| ids(submit)?.get(task.0 - base.0))?;
    let view = scheduler.task(task)?;
    Some(TaskInfo {
        number: TaskNumber(number),
        state: view.state,
        instance: view.instance,
        variant: view.variant,
        started: view.started.map(|at| wall.of(at)),
        ended: view.ended.map(|at| wall.of(at)),
        error: view.error.map(str::to_owned),
        workers: view.workers,
    })
}

fn submit_of<'a>(submits: &Submits<'a>, task: Ordinal) -> Option<(Ordinal, &'a Submit)> {
    let after = submits.partition_point(|(base, ..)| *base <= task);
    submits.get(after.checked_sub(1)?).map(|(base, submit, _)| (*base, &***submit))
}

const fn ids(submit: &Submit) -> Option<&IdList> {
    match &submit.ids {
        TaskIds::Given(ids) => Some(ids),
        TaskIds::Next(_) => None,
    }
}

/// Ranges of a job as runs of numbers, sorted: their count follows that of the ranges, not of the tasks.
fn numbers(submits: &Submits<'_>, ranges: &[OrdinalRange]) -> IdList {
    let mut runs: Vec<Run> = Vec::new();
    for range in ranges {
        let mut at = range.start;
        while at < range.end() {
            let Some((base, submit)) = submit_of(submits, at) else { break };
            let index = at.0 - base.0;
            let len = submit.ids.count().saturating_sub(index).min(range.end().0 - at.0);
            if len == 0 {
                break;
            }
            runs.extend(ids(submit).map(|ids| ids.slice(index, len)).unwrap_or_default());
            at = at.plus(len);
        }
    }
    runs.sort_by_key(|run| run.start);
    IdList::from(join(runs))
}

/// A worker.
pub(super) fn worker_info(worker: &WorkerView<'_>, wall: &Wall) -> WorkerInfo {
    WorkerInfo {
        id: worker.id,
        config: Arc::clone(worker.config),
        started: wall.of(worker.joined),
        ended: worker.lost.map(|(at, reason)| (wall.of(at), reason)),
        runtime: worker.runtime,
        last_task: worker.last_task.map(|(job, task, at)| (job, task, wall.of(at))),
    }
}

#[cfg(test)]
mod tests {
    use hq_core::{Blob, JobId, JobTarget, Profile, Request};

    use super::*;

    fn submit(ids: &str) -> Arc<Submit> {
        let profile = Profile::new(Request::cpus(1).unwrap());
        let ids = TaskIds::Given(IdList::parse(ids).unwrap());
        Arc::new(Submit::array(JobTarget::Attach(JobId(1)), ids, "program", Blob::default(), profile))
    }

    #[test]
    fn ten_million_tasks_are_a_run() {
        let (a, b) = (submit("0-9999999"), submit("20000000,10000000"));
        let submits = [(Ordinal(5), &a, Tick(0)), (Ordinal(50_000_000), &b, Tick(0))];
        let all = [OrdinalRange::new(Ordinal(5), 10_000_000), OrdinalRange::new(Ordinal(50_000_000), 2)];
        assert_eq!(numbers(&submits, &all).to_string(), "0-10000000,20000000");
        let some = [OrdinalRange::new(Ordinal(6), 2), OrdinalRange::new(Ordinal(10), 1)];
        assert_eq!(numbers(&submits, &some).to_string(), "1-2,5");
    }

    #[test]
    fn bodies_are_left_out_unless_asked_for() {
        let mut with = (*submit("0-1")).clone();
        with.parts = Parts::new(["a", "b"]).unwrap();
        let with = Arc::new(with);
        assert!(shown(&with, false).parts.is_empty());
        assert_eq!(shown(&with, true), with);
    }
}

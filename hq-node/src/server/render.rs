use std::sync::Arc;

use hq_core::{JobInfo, WorkerInfo};
use hq_scheduler::view::{JobView, WorkerView};

use super::wall::Wall;

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

use std::collections::BTreeMap;

use hq_core::{EventKind, Instance, JobId, TaskNumber, WallTime, WorkerId};

/// A run of a task that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) workers: Vec<WorkerId>,
    pub(super) start: WallTime,
    pub(super) end: WallTime,
}

/// Follows the runs of tasks: which have begun and not ended.
#[derive(Debug, Default)]
pub(super) struct Runs {
    open: BTreeMap<(JobId, TaskNumber, Instance), (WallTime, Vec<WorkerId>)>,
}

impl Runs {
    /// Puts the runs that end with an event at `at` into `ended`.
    pub(super) fn see(&mut self, at: WallTime, kind: &EventKind, ended: &mut Vec<Run>) {
        match kind {
            EventKind::TaskStarted { job, task, instance, workers, .. } => {
                self.open.insert((*job, *task, *instance), (at, workers.clone()));
            }
            EventKind::TasksFinished { job, workers, tasks, .. } => {
                for end in tasks {
                    self.open.remove(&(*job, end.task, end.instance));
                    ended.push(Run { workers: workers.clone(), start: end.started, end: end.ended });
                }
            }
            EventKind::TaskFailed { job, task, run: Some(run), .. }
            | EventKind::TaskRetried { job, task, run: Some(run), .. } => {
                self.open.remove(&(*job, *task, run.instance));
                ended.push(Run { workers: run.workers.clone(), start: run.started, end: at });
            }
            EventKind::TasksCanceled { job, tasks } | EventKind::TasksAborted { job, tasks } => {
                self.end(at, ended, |of, task, _| of == *job && tasks.index_of(task.0).is_some());
            }
            EventKind::WorkerLost { worker, .. } => {
                self.end(at, ended, |_, _, workers| workers.first() == Some(worker));
            }
            EventKind::ServerStarted { .. } => self.end(at, ended, |_, _, _| true),
            _ => {}
        }
    }

    /// What still runs at the end.
    pub(super) fn finish(mut self, at: WallTime, ended: &mut Vec<Run>) {
        self.end(at, ended, |_, _, _| true);
    }

    fn end(&mut self, at: WallTime, ended: &mut Vec<Run>, is_over: impl Fn(JobId, TaskNumber, &[WorkerId]) -> bool) {
        self.open.retain(|(job, task, _), (start, workers)| {
            let is_over = is_over(*job, *task, workers);
            if is_over {
                ended.push(Run { workers: std::mem::take(workers), start: *start, end: at });
            }
            !is_over
        });
    }
}

use std::sync::Arc;

use hq_client::DetailPiece;
use hq_core::{
    Event, EventKind, FailedRun, FinishedTask, JobDetail, JobTarget, Seq, ServerInfo, TaskInfo, TaskState, WallTime,
    WorkerInfo,
};

/// What has happened, as far as it can be seen by what is there now: that the server was started, and its workers.
pub(super) fn cluster_events(server: &ServerInfo, workers: &[WorkerInfo]) -> Vec<Event> {
    let mut events = vec![event(server.started, EventKind::ServerStarted { server_uid: server.server_uid.clone() })];
    for worker in workers {
        let id = worker.id;
        let config = Arc::clone(&worker.config);
        events.push(event(worker.started, EventKind::WorkerConnected { worker: id, config }));
        events.extend(worker.ended.map(|(at, reason)| event(at, EventKind::WorkerLost { worker: id, reason })));
    }
    events.sort_by_key(|event| event.at);
    events
}

/// The same of a piece of a job: of each task its last run and its end.
pub(super) fn job_events(piece: &DetailPiece) -> Vec<Event> {
    let DetailPiece { detail, is_first, is_last } = piece;
    let mut events = vec![];
    if *is_first {
        submit_events(detail, &mut events);
    }
    detail.tasks.iter().for_each(|task| task_events(detail, task, &mut events));
    let (job, info) = (detail.info.id, &detail.info);
    if let Some(ended) = info.ended.filter(|_| *is_last && !info.is_open) {
        events.push(event(ended, EventKind::JobCompleted { job }));
    }
    events.sort_by_key(|event| event.at);
    events
}

const fn event(at: WallTime, kind: EventKind) -> Event {
    Event { seq: Seq(0), at, kind }
}

fn submit_events(detail: &JobDetail, events: &mut Vec<Event>) {
    let (job, info) = (detail.info.id, &detail.info);
    let was_open = !detail.submits.iter().any(|info| matches!(info.submit.job, JobTarget::New(_)));
    if was_open {
        events.push(event(info.submitted, EventKind::JobOpened { job, spec: info.spec.clone() }));
    }
    for one in &detail.submits {
        let spec = (!was_open).then(|| info.spec.clone());
        let (tasks, submit) = (one.submit.ids.count(), Arc::clone(&one.submit));
        events.push(event(one.submitted, EventKind::JobSubmitted { job, spec, tasks, submit }));
    }
}

fn task_events(detail: &JobDetail, info: &TaskInfo, events: &mut Vec<Event>) {
    let (job, task) = (detail.info.id, info.number);
    let (instance, variant, workers) = (info.instance, info.variant, info.workers.clone());
    match (info.state, info.started, info.ended) {
        (TaskState::Running, Some(started), _) => {
            events.push(event(started, EventKind::TaskStarted { job, task, instance, variant, workers }));
        }
        (TaskState::Finished, Some(started), Some(ended)) => {
            let tasks = vec![FinishedTask { task, instance, started, ended }];
            events.push(event(ended, EventKind::TasksFinished { job, workers, variant, tasks }));
        }
        (TaskState::Failed, started, Some(ended)) => {
            let run = started.map(|started| FailedRun { instance, variant, workers, started });
            let error = info.error.clone().unwrap_or_default();
            events.push(event(ended, EventKind::TaskFailed { job, task, error, run }));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        testing::{golden, samples},
        view::{EventLines, event_text},
    };

    #[test]
    fn what_is_there_tells_what_was() {
        let jobs = [samples::task_list_jobs().to_vec(), vec![samples::graph_job()]].concat();
        let (mut told, mut lines) = (EventLines::default(), vec![]);
        let mut events = cluster_events(&samples::server(), &samples::workers());
        for detail in jobs {
            // The first task comes in another piece than the rest.
            let first = JobDetail { tasks: detail.tasks.iter().take(1).cloned().collect(), ..detail.clone() };
            let rest = JobDetail { tasks: detail.tasks.iter().skip(1).cloned().collect(), ..detail };
            events.extend(job_events(&DetailPiece { detail: first, is_first: true, is_last: false }));
            events.extend(job_events(&DetailPiece { detail: rest, is_first: false, is_last: true }));
        }
        events.iter().for_each(|event| told.tell(event, &mut lines));
        lines.sort_by_key(|line| line.at);
        golden("events_rebuilt.jsonl", &event_text(&lines));
    }
}

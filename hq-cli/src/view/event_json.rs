use std::collections::{BTreeMap, BTreeSet};

use hq_core::{
    CrashLimit, Event, EventKind, GpuState, HardwareState, Instance, JobId, JobTarget, LossReason, Profile, Request,
    Span, Stdio, Submit, TaskIds, TaskNumber, WallTime, WorkerConfig, WorkerId,
};
use serde_json::{Map, Value, json};

use super::{
    EventLine,
    explain::span_json,
    program::{Body, body, lossy},
    queues::queue_params_json,
    requests::quantity_json,
    worker_json::resources,
};
use crate::output::rfc3339;

/// Turns events into the lines that readers of event logs know, each task by itself.
///
/// It remembers which runs were said to have started: of what starts and ends between two reports of its worker, the
/// end tells of the start too.
#[derive(Debug, Default)]
pub(crate) struct EventLines {
    started: BTreeSet<(JobId, TaskNumber, Instance)>,
    /// Open jobs, for what is submitted to them later.
    open: BTreeMap<JobId, (String, Option<u32>)>,
}

impl EventLines {
    /// Puts the lines of an event into `lines`.
    pub(crate) fn tell(&mut self, event: &Event, lines: &mut Vec<EventLine>) {
        let at = event.at;
        let mut line = |kind: &str, fields: Value| lines.push(EventLine::one(at, typed(kind, fields)));
        match &event.kind {
            EventKind::ServerStarted { server_uid } => line("server-start", json!({ "server_uid": server_uid })),
            EventKind::WorkerConnected { worker, config } => {
                line("worker-connected", json!({ "id": worker, "configuration": configuration(config) }));
            }
            EventKind::WorkerLost { worker, reason } => {
                line("worker-lost", json!({ "id": worker, "reason": loss(*reason) }));
            }
            EventKind::WorkerOverview { worker, state } => {
                line("worker-overview", json!({ "id": worker, "hw-state": { "state": hardware(state) } }));
            }
            EventKind::QueueCreated { queue, spec } => {
                line("autoalloc-queue-created", json!({ "queue-id": queue, "params": queue_params_json(spec) }));
            }
            EventKind::QueueRemoved { queue } => line("autoalloc-queue-removed", json!({ "queue-id": queue })),
            EventKind::AllocationQueued { queue, allocation, workers } => line(
                "autoalloc-allocation-queued",
                json!({ "queue-id": queue, "allocation-id": allocation, "worker-count": workers }),
            ),
            EventKind::AllocationStarted { queue, allocation } => {
                line("autoalloc-allocation-started", json!({ "queue-id": queue, "allocation-id": allocation }));
            }
            EventKind::AllocationFinished { queue, allocation } => {
                line("autoalloc-allocation-finished", json!({ "queue-id": queue, "allocation-id": allocation }));
            }
            EventKind::JobOpened { job, spec } => {
                self.open.insert(*job, (spec.name.clone(), spec.max_fails));
                line("job-open", json!({ "job_id": job, "name": spec.name, "max_fails": spec.max_fails }));
            }
            EventKind::JobSubmitted { job, spec, tasks, submit } => {
                let (name, max_fails) = match (spec, self.open.get(job)) {
                    (Some(spec), _) => (spec.name.as_str(), spec.max_fails),
                    (None, Some((name, max_fails))) => (name.as_str(), *max_fails),
                    (None, None) => ("", None),
                };
                line(
                    "job-created",
                    json!({
                        "job": job,
                        "closed_job": matches!(submit.job, JobTarget::New(_)),
                        "job_desc": { "name": name, "max_fails": max_fails },
                        "submit_desc": submit_desc(submit, *tasks),
                    }),
                );
            }
            EventKind::JobClosed { job } => line("job-close", json!({ "job_id": job })),
            EventKind::JobCanceled { job, reason } => line("job-cancel", json!({ "job_id": job, "reason": reason })),
            EventKind::JobCompleted { job } => {
                self.forget(*job);
                line("job-completed", json!({ "job": job }));
            }
            EventKind::TaskStarted { job, task, instance, variant, workers } => {
                self.started.insert((*job, *task, *instance));
                line("task-started", started(*job, *task, *instance, *variant, workers));
            }
            EventKind::TasksFinished { job, workers, variant, tasks } => {
                for end in tasks {
                    if !self.started.remove(&(*job, end.task, end.instance)) {
                        let start = started(*job, end.task, end.instance, *variant, workers);
                        lines.push(EventLine::one(end.started, typed("task-started", start)));
                    }
                    let finished = typed("task-finished", json!({ "job": job, "task": end.task }));
                    lines.push(EventLine::one(end.ended, finished));
                }
            }
            EventKind::TaskFailed { job, task, error, run } => {
                if let Some(run) = run
                    && !self.started.remove(&(*job, *task, run.instance))
                {
                    let start = started(*job, *task, run.instance, run.variant, &run.workers);
                    lines.push(EventLine::one(run.started, typed("task-started", start)));
                }
                let failed = typed("task-failed", json!({ "job": job, "task": task, "error": error }));
                lines.push(EventLine::one(at, failed));
            }
            EventKind::TaskRetried { job, task, error, run, until } => {
                if let Some(run) = run
                    && !self.started.remove(&(*job, *task, run.instance))
                {
                    let start = started(*job, *task, run.instance, run.variant, &run.workers);
                    lines.push(EventLine::one(run.started, typed("task-started", start)));
                }
                let again = json!({ "job": job, "task": task, "error": error, "until": rfc3339(*until) });
                lines.push(EventLine::one(at, typed("task-retried", again)));
            }
            EventKind::TasksCanceled { job, tasks } => {
                lines.push(EventLine::many(at, "task-canceled", *job, tasks.clone()));
            }
            EventKind::TasksAborted { job, tasks } => {
                lines.push(EventLine::many(at, "task-aborted", *job, tasks.clone()));
            }
            EventKind::TaskNotify { job, task, worker, message } => {
                let task = json!({ "job_id": job, "job_task_id": task });
                line("notify", json!({ "task_id": task, "worker_id": worker, "message": message }));
            }
        }
    }

    /// Nothing more happens to the tasks of the job.
    fn forget(&mut self, job: JobId) {
        self.open.remove(&job);
        let first = (job, TaskNumber(0), Instance(0));
        let last = (job, TaskNumber(u32::MAX), Instance(u32::MAX));
        let of_job: Vec<_> = self.started.range(first..=last).copied().collect();
        for run in of_job {
            self.started.remove(&run);
        }
    }
}

/// The line that ends the log of a server that was stopped.
pub(crate) fn server_stop(at: WallTime) -> EventLine {
    EventLine::one(at, typed("server-stop", json!({})))
}

/// An event with its type.
pub(super) fn typed(kind: &str, mut fields: Value) -> Value {
    if let Value::Object(map) = &mut fields {
        map.insert("type".to_owned(), kind.into());
    }
    fields
}

/// Exactly what readers expect, no key more.
fn started(job: JobId, task: TaskNumber, instance: Instance, variant: u8, workers: &[WorkerId]) -> Value {
    let mut fields = Map::new();
    fields.insert("job".to_owned(), json!(job));
    fields.insert("task".to_owned(), json!(task));
    fields.insert("instance".to_owned(), json!(instance));
    match workers {
        [one] => fields.insert("worker".to_owned(), json!(one)),
        many => fields.insert("workers".to_owned(), json!(many)),
    };
    if variant > 0 {
        fields.insert("variant".to_owned(), json!(variant));
    }
    fields.into()
}

const fn loss(reason: LossReason) -> &'static str {
    match reason {
        LossReason::Stopped => "Stopped",
        LossReason::ConnectionLost | LossReason::ServerEnded | LossReason::Interrupted => "ConnectionLost",
        LossReason::HeartbeatLost => "HeartbeatLost",
        LossReason::IdleTimeout => "IdleTimeout",
        LossReason::TimeLimitReached => "TimeLimitReached",
    }
}

fn submit_desc(submit: &Submit, tasks: u64) -> Value {
    let (body, profile) = (body(submit), submit.profiles.first());
    let task_desc = match (&body, profile) {
        (Body::Graph, _) | (_, None) => json!({ "n_tasks": tasks }),
        (_, Some(profile)) => json!({
            "ids": ids(&submit.ids),
            "resources": { "variants": profile.variants.iter().map(request).collect::<Vec<_>>() },
            "time_limit": profile.time_limit.map(span_json),
            "priority": profile.priority,
            "crash_limit": crash_limit(profile),
        }),
    };
    let spec = body.program(submit, 0);
    let submit_dir = spec.as_ref().map(|spec| lossy(&spec.submit_dir));
    let stream_path = spec.as_ref().and_then(|spec| stream(&spec.stdout).or_else(|| stream(&spec.stderr)));
    json!({ "submit_dir": submit_dir, "stream_path": stream_path, "task_desc": task_desc })
}

/// The directory of a stream, as it was given.
fn stream(stdio: &Stdio) -> Option<String> {
    match stdio {
        Stdio::Stream { dir } => Some(lossy(dir)),
        Stdio::Null | Stdio::Live | Stdio::File { .. } => None,
    }
}

fn ids(ids: &TaskIds) -> Value {
    match ids {
        TaskIds::Given(ids) => {
            let run = |run: &hq_core::idlist::Run| json!({ "start": run.start, "count": run.count, "step": run.step });
            json!({ "ranges": ids.runs().iter().map(run).collect::<Vec<_>>() })
        }
        TaskIds::Next(_) => json!({ "ranges": [] }),
    }
}

fn request(request: &Request) -> Value {
    let entries = request
        .entries()
        .iter()
        .map(|entry| json!({ "resource": entry.resource, "policy": quantity_json(entry.quantity) }))
        .collect::<Vec<_>>();
    json!({
        "n_nodes": request.nodes(),
        "min_time": span_json(request.min_time()),
        "resources": entries,
        "weight": request.weight(),
    })
}

fn crash_limit(profile: &Profile) -> Value {
    match profile.crash_limit {
        CrashLimit::Limit(n) => json!({ "MaxCrashes": n }),
        CrashLimit::NeverRestart => json!("NeverRestart"),
        CrashLimit::Unlimited => json!("Unlimited"),
    }
}

fn configuration(config: &WorkerConfig) -> Value {
    let span = |span: Option<Span>| span.map(span_json);
    json!({
        "hostname": config.hostname,
        "group": config.group,
        "work_dir": config.work_dir,
        "resources": resources(&config.resources),
        "time_limit": span(config.time_limit),
        "idle_timeout": span(config.idle_timeout),
        "heartbeat_interval": span_json(config.heartbeat),
        "overview_configuration": config.overview_interval.map(|every| json!({ "send_interval": span_json(every) })),
        "allocation": config.allocation.as_ref().map(|job| json!({ "manager": job.manager, "id": job.id })),
        "extra": { "ProcessPid": config.pid.to_string() },
    })
}

fn hardware(state: &HardwareState) -> Value {
    let gpus = |gpus: &Option<Vec<GpuState>>| {
        let gpu = |gpu: &GpuState| json!({ "id": gpu.id, "processor_usage": gpu.processor.percent(), "mem_usage": gpu.memory.percent() });
        gpus.as_ref().map(|gpus| json!({ "gpus": gpus.iter().map(gpu).collect::<Vec<_>>() }))
    };
    let network = &state.network;
    json!({
        "timestamp": state.at.0 / 1_000_000,
        "cpu_usage": {
            "cpu_per_core_percent_usage": state.cpus.iter().map(|share| share.percent()).collect::<Vec<_>>(),
        },
        "memory_usage": { "total": state.memory_total, "free": state.memory_free },
        "network_usage": {
            "rx_bytes": network.rx_bytes,
            "tx_bytes": network.tx_bytes,
            "rx_packets": network.rx_packets,
            "tx_packets": network.tx_packets,
            "rx_errors": network.rx_errors,
            "tx_errors": network.tx_errors,
        },
        "nvidia_gpus": gpus(&state.nvidia),
        "amd_gpus": gpus(&state.amd),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{golden, samples};

    fn text(events: &[Event]) -> String {
        let (mut told, mut lines) = (EventLines::default(), vec![]);
        events.iter().for_each(|event| told.tell(event, &mut lines));
        crate::view::event_text(&lines)
    }

    #[test]
    fn lines_of_all_kinds() {
        golden("events.jsonl", &text(&samples::events()));
    }

    #[test]
    fn starts_are_told_once() {
        let text = text(&samples::events());
        let of = |kind: &str| text.matches(&format!(r#""type":"{kind}""#)).count();
        assert_eq!(of("task-started"), of("task-finished") + of("task-failed"));
    }
}

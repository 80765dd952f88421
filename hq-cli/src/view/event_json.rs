use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

use hq_core::{
    CrashLimit, Event, EventKind, GpuState, HardwareState, IdList, Instance, JobId, JobTarget, LossReason, Profile,
    Request, Span, Stdio, Submit, TaskIds, TaskNumber, WallTime, WorkerConfig, WorkerId,
};
use serde_json::{Map, Value, json};

use super::{
    explain::span_json,
    program::{Body, body, lossy},
    queues::queue_params_json,
    requests::quantity_json,
    worker_json::resources,
};
use crate::output::{compact_json, rfc3339};

/// Tasks in one line, at most.
const TASKS_MAX: usize = 10_000;

/// A line of the event log: when, and what.
pub(crate) type EventLine = (WallTime, Value);

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
        let mut line = |kind: &str, fields: Value| lines.push((at, typed(kind, fields)));
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
                        lines.push((end.started, typed("task-started", start)));
                    }
                    lines.push((end.ended, typed("task-finished", json!({ "job": job, "task": end.task }))));
                }
            }
            EventKind::TaskFailed { job, task, error, run } => {
                if let Some(run) = run
                    && !self.started.remove(&(*job, *task, run.instance))
                {
                    let start = started(*job, *task, run.instance, run.variant, &run.workers);
                    lines.push((run.started, typed("task-started", start)));
                }
                lines.push((at, typed("task-failed", json!({ "job": job, "task": task, "error": error }))));
            }
            EventKind::TasksCanceled { job, tasks } => lines.extend(many("task-canceled", at, *job, tasks)),
            EventKind::TasksAborted { job, tasks } => lines.extend(many("task-aborted", at, *job, tasks)),
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

/// A line as it is written, without its end.
pub(crate) fn event_line((at, event): &EventLine) -> String {
    compact_json(&json!({ "event": event, "time": rfc3339(*at) }))
}

/// The line that ends the log of a server that was stopped.
pub(crate) fn server_stop(at: WallTime) -> EventLine {
    (at, typed("server-stop", json!({})))
}

fn typed(kind: &str, mut fields: Value) -> Value {
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

fn many(kind: &str, at: WallTime, job: JobId, tasks: &IdList) -> Vec<EventLine> {
    let tasks: Vec<Value> = tasks.iter().map(|task| json!({ "job_id": job, "job_task_id": task })).collect();
    tasks.chunks(TASKS_MAX).map(|part| (at, typed(kind, json!({ "tasks": part })))).collect()
}

const fn loss(reason: LossReason) -> &'static str {
    match reason {
        LossReason::Stopped => "Stopped",
        LossReason::ConnectionLost | LossReason::ServerEnded => "ConnectionLost",
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

/// Sorts lines by time as they come, as far as a bounded memory goes: what a worker reports is a little older than what
/// the server itself saw before. Lines of one moment keep their order.
#[derive(Debug)]
pub(crate) struct Reorder {
    waiting: BTreeMap<(WallTime, u64), Value>,
    count: u64,
    room: usize,
}

impl Reorder {
    /// Holds back so many lines.
    pub(crate) const fn new(room: usize) -> Self {
        Self { waiting: BTreeMap::new(), count: 0, room }
    }

    /// Takes a line; gives the earliest one where there are too many.
    pub(crate) fn push(&mut self, (at, event): EventLine) -> Option<EventLine> {
        self.count += 1;
        if let Entry::Vacant(place) = self.waiting.entry((at, self.count)) {
            place.insert(event);
        }
        if self.waiting.len() > self.room { self.pop() } else { None }
    }

    /// The earliest line.
    pub(crate) fn pop(&mut self) -> Option<EventLine> {
        self.waiting.pop_first().map(|((at, _), event)| (at, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{golden, samples};

    fn text(events: &[Event]) -> String {
        let (mut told, mut lines) = (EventLines::default(), vec![]);
        events.iter().for_each(|event| told.tell(event, &mut lines));
        lines.iter().map(|line| event_line(line) + "\n").collect()
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

    #[test]
    fn many_tasks_are_several_lines() {
        let lines = many("task-canceled", WallTime(0), JobId(1), &IdList::range(0, 25_000));
        let counts: Vec<_> = lines.iter().map(|(_, line)| line["tasks"].as_array().map_or(0, Vec::len)).collect();
        assert_eq!(counts, [10_000, 10_000, 5_000]);
    }

    #[test]
    fn lines_are_sorted_within_a_window() {
        let mut reorder = Reorder::new(2);
        let mut order = vec![];
        for (time, name) in [(5, "a"), (3, "b"), (5, "c"), (4, "d"), (9, "e")] {
            order.extend(reorder.push((WallTime(time), json!(name))));
        }
        order.extend(std::iter::from_fn(|| reorder.pop()));
        let names: Vec<_> = order.iter().filter_map(|(_, name)| name.as_str()).collect();
        assert_eq!(names, ["b", "d", "a", "c", "e"]);
    }
}

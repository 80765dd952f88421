use hq_core::{Amount, ResourceKind, Span, WorkerInfo, WorkerResources, WorkerRuntime};
use serde_json::{Value, json};

use super::worker_info::data_provider;
use crate::output::rfc3339;

/// A worker; what it does right now only with `runtime`.
pub(crate) fn worker_json(worker: &WorkerInfo, runtime: bool) -> Value {
    let config = &worker.config;
    let runtime = worker.runtime.filter(|_| runtime && worker.ended.is_none());
    json!({
        "id": worker.id,
        "configuration": {
            "heartbeat_interval": config.heartbeat.as_secs_f64(),
            "idle_timeout": config.idle_timeout.map(Span::as_secs_f64),
            "time_limit": config.time_limit.map(Span::as_secs_f64),
            "work_dir": config.work_dir,
            "hostname": config.hostname,
            "group": config.group,
            "listen_address": data_provider(worker),
            "resources": resources(&config.resources),
            "on_server_lost": config.on_server_lost.label(),
            "min_utilization": f64::from(config.min_utilization) / Amount::PARTS as f64,
        },
        "allocation": config.allocation.as_ref().map(|job| json!({ "manager": job.manager, "id": job.id })),
        "runtime_info": runtime.map(runtime_json),
        "last_task_started": worker.last_task.map(|(job, task, at)| json!({
            "task_id": { "job_id": job, "job_task_id": task },
            "time": rfc3339(at),
        })),
        "started": rfc3339(worker.started),
        "ended": worker.ended.map(|(at, _)| json!({ "at": rfc3339(at) })),
    })
}

fn runtime_json(runtime: WorkerRuntime) -> Value {
    match runtime {
        WorkerRuntime::Single { assigned, running, reserved } => json!({
            "SingleNodeTasks": { "assigned_tasks": assigned, "running_tasks": running, "is_reserved": reserved },
        }),
        WorkerRuntime::Gang { main } => json!({ "MultiNodeTask": { "main_node": main } }),
    }
}

/// What a worker offers.
pub(crate) fn resources(resources: &WorkerResources) -> Value {
    let items: Vec<Value> = resources
        .resources()
        .iter()
        .map(|def| match &def.kind {
            ResourceKind::List(values) => json!({ "name": def.name, "kind": "list", "values": values }),
            ResourceKind::Range { start, end } => {
                json!({ "name": def.name, "kind": "range", "start": start, "end": end })
            }
            ResourceKind::Groups(groups) => json!({ "name": def.name, "kind": "groups", "groups": groups }),
            ResourceKind::Sum(amount) => json!({ "name": def.name, "kind": "sum", "size": amount.parts() }),
        })
        .collect();
    json!({ "resources": items, "coupling": { "weights": resources.coupling() } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{golden, samples};

    #[test]
    fn json() {
        golden("worker_info.json", &format!("{:#}\n", worker_json(&samples::busy_worker(), true)));
        golden("worker_info_ended.json", &format!("{:#}\n", worker_json(&samples::workers()[1], true)));
    }

    #[test]
    fn a_list_does_not_tell_what_workers_do() {
        assert_eq!(worker_json(&samples::busy_worker(), false)["runtime_info"], Value::Null);
    }
}

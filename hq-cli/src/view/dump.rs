use std::collections::BTreeMap;

use hq_core::{JobDetail, ServerInfo, WorkerId, WorkerInfo};
use serde_json::{Value, json};

use super::{job_detail_json, server_json, task_rows, worker_json};

/// All that a server has in its books, for people who look for a fault.
pub(crate) fn dump_json(server: &ServerInfo, workers: &[WorkerInfo], jobs: &[JobDetail]) -> Value {
    let mut groups: BTreeMap<&str, Vec<WorkerId>> = BTreeMap::new();
    for worker in workers.iter().filter(|worker| worker.ended.is_none()) {
        groups.entry(&worker.config.group).or_default().push(worker.id);
    }
    let tasks: Vec<Value> = jobs
        .iter()
        .flat_map(|job| task_rows(job, |_, state| !state.is_end()).into_iter().map(move |row| (job.info.id, row)))
        .map(|(job, row)| json!({ "job": job, "task": row.number, "state": row.state.label() }))
        .collect();
    json!({
        "server": server_json(server, None),
        "tako": {
            "workers": workers.iter().map(|worker| worker_json(worker, true)).collect::<Vec<_>>(),
            "worker_groups": groups,
            "tasks": tasks,
        },
        "jobs": jobs.iter().map(|job| serde_json::to_value(job_detail_json(job)).unwrap_or_default()).collect::<Vec<_>>(),
    })
}

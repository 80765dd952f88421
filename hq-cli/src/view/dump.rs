use std::collections::BTreeMap;

use hq_core::{JobDetail, JobId, ServerInfo, TaskState, WorkerId, WorkerInfo};
use serde_json::json;

use super::{Programs, TaskFilter, TaskRow, TaskRuns, server_json, state::task_state_json, task_json, worker_json};
use crate::output::JsonStream;

/// Tasks of (a piece of) a job: those that ran one by one, others as runs.
pub(crate) fn dump_tasks(detail: &JobDetail, json: &mut JsonStream<'_>) -> anyhow::Result<()> {
    let programs = Programs::new(detail);
    for info in &detail.tasks {
        json.value(&task_json(&programs, &TaskRow { number: info.number, state: info.state, info: Some(info) }))?;
    }
    for (state, ids) in &detail.rest {
        json.value(&json!({ "ids": ids.to_string(), "state": task_state_json(*state) }))?;
    }
    Ok(())
}

/// Tasks that have not ended, as runs.
#[derive(Debug, Default)]
pub(crate) struct LiveTasks(BTreeMap<(JobId, TaskState), TaskRuns>);

impl LiveTasks {
    /// Adds those of (a piece of) a job.
    pub(crate) fn add(&mut self, detail: &JobDetail) {
        for state in [TaskState::Waiting, TaskState::Running] {
            if detail.info.counts.of(state) > 0 {
                let filter = TaskFilter { ids: None, states: vec![state] };
                self.0.entry((detail.info.id, state)).or_default().add(detail, &filter);
            }
        }
    }
}

/// What stands beside the jobs in a dump of all that a server has in its books.
pub(crate) fn dump_rest(
    server: &ServerInfo,
    workers: &[WorkerInfo],
    live: LiveTasks,
    json: &mut JsonStream<'_>,
) -> anyhow::Result<()> {
    let mut groups: BTreeMap<&str, Vec<WorkerId>> = BTreeMap::new();
    for worker in workers.iter().filter(|worker| worker.ended.is_none()) {
        groups.entry(&worker.config.group).or_default().push(worker.id);
    }
    json.entry("server", &server_json(server, None))?;
    json.key("tako")?;
    json.object()?;
    json.key("workers")?;
    json.array()?;
    workers.iter().try_for_each(|worker| json.value(&worker_json(worker, true)))?;
    json.close()?;
    json.entry("worker_groups", &groups)?;
    json.key("tasks")?;
    json.array()?;
    for ((job, state), runs) in live.0 {
        json.value(&json!({ "job": job, "ids": runs.text(), "state": task_state_json(state) }))?;
    }
    json.close()?;
    json.close()
}

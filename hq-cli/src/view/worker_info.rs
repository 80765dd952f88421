use hq_core::{WorkerInfo, WorkerRuntime};

use super::{
    resource_summary,
    worker_list::{manager, manager_job, state_cell},
};
use crate::output::{Cell, Table, rfc3339};

/// All about a worker. What it does right now is told only if it is known.
pub(crate) fn worker_details(worker: &WorkerInfo) -> Table {
    let config = &worker.config;
    let mut table = Table::vertical();
    table.entry("Worker", worker.id.to_string());
    table.entry("State", state_cell(worker));
    table.entry("Hostname", config.hostname.as_str());
    table.entry("Started", format!("\"{}\"", rfc3339(worker.started)));
    table.entry("Data provider", data_provider(worker));
    table.entry("Working directory", config.work_dir.as_str());
    table.entry("Heartbeat", config.heartbeat.to_string());
    table.entry("Idle timeout", Cell::or_none(config.idle_timeout));
    table.entry("Overview interval", Cell::or_none(config.overview_interval));
    table.entry("Resources", resource_summary(&config.resources, true).into_iter().collect::<Cell>());
    table.entry("Time Limit", Cell::or_none(config.time_limit));
    table.entry("Process pid", config.pid.to_string());
    table.entry("Group", config.group.as_str());
    table.entry("Manager", manager(worker));
    table.entry("Manager Job ID", manager_job(worker));
    let last = worker.last_task.map(|(job, task, at)| format!("{job}@{task}; Time: \"{}\"", rfc3339(at)));
    table.entry("Last task started", last.unwrap_or_default());
    if let (Some(runtime), None) = (worker.runtime, worker.ended) {
        table.entry("Runtime Info", runtime_text(runtime));
    }
    table
}

/// Workers listen to nothing: the port says so.
pub(super) fn data_provider(worker: &WorkerInfo) -> String {
    format!("{}:0", worker.config.hostname)
}

fn runtime_text(runtime: WorkerRuntime) -> String {
    match runtime {
        WorkerRuntime::Single { assigned, running, reserved } => {
            let mut text = format!("assigned tasks: {assigned}");
            if running > 0 {
                text += &format!("; running tasks: {running}");
            }
            if reserved {
                text += "; reserved for a multi-node task";
            }
            text
        }
        WorkerRuntime::Gang { main: true } => "running multinode task; main node".to_owned(),
        WorkerRuntime::Gang { main: false } => "running multinode task; secondary node".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{golden, samples};

    #[test]
    fn text() {
        golden("worker_info.txt", &worker_details(&samples::busy_worker()).draw(false));
        golden("worker_info_ended.txt", &worker_details(&samples::workers()[1]).draw(false));
    }

    #[test]
    fn runtime() {
        for (runtime, expected) in [
            (WorkerRuntime::Single { assigned: 0, running: 0, reserved: false }, "assigned tasks: 0"),
            (WorkerRuntime::Single { assigned: 1, running: 1, reserved: false }, "assigned tasks: 1; running tasks: 1"),
            (
                WorkerRuntime::Single { assigned: 2, running: 0, reserved: true },
                "assigned tasks: 2; reserved for a multi-node task",
            ),
            (WorkerRuntime::Gang { main: true }, "running multinode task; main node"),
            (WorkerRuntime::Gang { main: false }, "running multinode task; secondary node"),
        ] {
            assert_eq!(runtime_text(runtime), expected);
        }
    }
}

use hq_core::{AllocationInfo, AllocationState, QueueInfo, Span, WallTime};
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::{resource_summary, resources_json};
use crate::output::{Align, Cell, Color, Table, date_local, rfc3339};

/// Queues in a table.
pub(crate) fn queue_list(queues: &[QueueInfo]) -> Table {
    let mut table = Table::horizontal(&[
        ("ID", Align::Left),
        ("State", Align::Left),
        ("Backlog size", Align::Left),
        ("Max workers per alloc", Align::Left),
        ("Max worker count", Align::Left),
        ("Timelimit", Align::Left),
        ("Manager", Align::Left),
        ("Worker resources", Align::Left),
        ("Name", Align::Left),
        ("Args", Align::Left),
    ]);
    for queue in queues {
        let spec = &queue.spec;
        let resources = queue.known.as_ref().map(|known| resource_summary(known, false).join("; "));
        table.row(vec![
            queue.id.to_string().into(),
            match &queue.paused {
                None => Cell::colored("ACTIVE", Color::Green),
                Some(_) => Cell::colored("PAUSED", Color::Yellow),
            },
            spec.backlog.to_string().into(),
            spec.workers_per_allocation.to_string().into(),
            spec.max_workers.unwrap_or(0).to_string().into(),
            spec.time_limit.map_or_else(String::new, |limit| limit.to_string()).into(),
            spec.backend.to_uppercase().into(),
            resources.unwrap_or_else(|| "<unknown>".to_owned()).into(),
            spec.name.clone().unwrap_or_default().into(),
            spec.submit_args.join(",").into(),
        ]);
    }
    table
}

/// What words of the table mean that say it badly.
pub(crate) fn queue_notes(queues: &[QueueInfo]) -> Vec<&'static str> {
    let notes = [
        (queues.iter().any(|queue| queue.spec.max_workers.is_none()), "Max worker count 0: there is no limit"),
        (
            queues.iter().any(|queue| queue.known.is_none()),
            "Worker resources <unknown>: no worker of the queue has come yet, so that it is not known what it will have",
        ),
    ];
    notes.into_iter().filter(|(applies, _)| *applies).map(|(_, note)| note).collect()
}

/// A queue.
pub(crate) fn queue_json(queue: &QueueInfo) -> Value {
    let spec = &queue.spec;
    json!({
        "id": queue.id,
        "name": spec.name,
        "state": if queue.paused.is_some() { "Paused" } else { "Active" },
        "manager": manager(&spec.backend),
        "additional_args": spec.submit_args,
        "backlog": spec.backlog,
        "max_workers_per_alloc": spec.workers_per_allocation,
        "timelimit": spec.time_limit.map(Span::as_secs_f64),
        "max_worker_count": spec.max_workers,
        "worker_args": spec.worker_args,
        "known_worker_resources": queue.known.as_ref().map(resources_json),
    })
}

/// What a queue asks, as the event log has it.
pub(crate) fn queue_params_json(spec: &hq_core::QueueSpec) -> Value {
    json!({
        "name": spec.name,
        "manager": manager(&spec.backend),
        "additional_args": spec.submit_args,
        "backlog": spec.backlog,
        "max_workers_per_alloc": spec.workers_per_allocation,
        "timelimit": spec.time_limit.map(Span::as_secs_f64),
        "max_worker_count": spec.max_workers,
        "worker_args": spec.worker_args,
    })
}

/// A batch system as JSON has it.
fn manager(backend: &str) -> &str {
    match backend {
        "pbs" => "PBS",
        "slurm" => "Slurm",
        "local" => "Local",
        other => other,
    }
}

/// Allocations in a table, by the clock of this machine.
pub(crate) fn allocation_list(allocations: &[AllocationInfo]) -> Table {
    allocation_table(allocations, &TimeZone::system())
}

fn allocation_table(allocations: &[AllocationInfo], zone: &TimeZone) -> Table {
    let mut table = Table::horizontal(&[
        ("ID", Align::Left),
        ("State", Align::Left),
        ("Working directory", Align::Left),
        ("Worker count", Align::Left),
        ("Queue time", Align::Left),
        ("Start time", Align::Left),
        ("Finish time", Align::Left),
    ]);
    let time = |at: Option<WallTime>| at.map_or_else(String::new, |at| date_local(at, zone));
    for allocation in allocations {
        let (state, color) = match allocation.state {
            AllocationState::Queued => ("QUEUED", Color::Yellow),
            AllocationState::Running => ("RUNNING", Color::Yellow),
            AllocationState::Finished => ("FINISHED", Color::Green),
            AllocationState::Failed => ("FAILED", Color::Red),
        };
        table.row(vec![
            allocation.id.as_str().into(),
            Cell::colored(state, color),
            allocation.dir.as_deref().unwrap_or_default().into(),
            allocation.workers.to_string().into(),
            time(Some(allocation.queued)).into(),
            time(allocation.started).into(),
            time(allocation.ended).into(),
        ]);
    }
    table
}

/// An allocation.
pub(crate) fn allocation_json(allocation: &AllocationInfo) -> Value {
    json!({
        "id": allocation.id,
        "target_worker_count": allocation.workers,
        "queued_at": rfc3339(allocation.queued),
        "started_at": allocation.started.map(rfc3339),
        "ended_at": allocation.ended.map(rfc3339),
        "status": match allocation.state {
            AllocationState::Queued => "queued",
            AllocationState::Running => "running",
            AllocationState::Finished => "finished",
            AllocationState::Failed => "failed",
        },
        "workdir": allocation.dir,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hq_core::{PauseCause, QueueId, QueueSpec, WorkerResources};

    use super::*;
    use crate::testing::golden;

    fn queues() -> Vec<QueueInfo> {
        let words = |text: &str| text.split('|').map(str::to_owned).collect::<Vec<_>>();
        let first = QueueSpec {
            backlog: 2,
            time_limit: Some(Span::secs(180)),
            name: Some("foo".to_owned()),
            worker_args: words(r#"--cpus|"4"|--on-server-lost|"finish-running"|--time-limit|"3m""#),
            submit_args: words("-q|qexp|--foo|a b"),
            ..QueueSpec::new("pbs")
        };
        let second = QueueSpec {
            workers_per_allocation: 2,
            max_workers: Some(7),
            time_limit: Some(Span::secs(4200)),
            ..QueueSpec::new("slurm")
        };
        let known = WorkerResources::cpus(4).expect("four");
        vec![
            QueueInfo { id: QueueId(1), spec: Arc::new(first), paused: None, known: None },
            QueueInfo {
                id: QueueId(2),
                spec: Arc::new(second),
                paused: Some(PauseCause::Submissions("no".to_owned())),
                known: Some(known),
            },
        ]
    }

    fn allocations() -> Vec<AllocationInfo> {
        let at = |seconds: u64| WallTime(1_769_844_851_000_000 + seconds * 1_000_000);
        let running = AllocationInfo {
            queue: QueueId(1),
            id: "1.job".to_owned(),
            workers: 1,
            state: AllocationState::Running,
            queued: at(0),
            started: Some(at(4)),
            ended: None,
            error: None,
            dir: Some("/s/001/autoalloc/1-foo/001".to_owned()),
        };
        let failed = AllocationInfo {
            id: "2.job".to_owned(),
            state: AllocationState::Failed,
            started: None,
            ended: Some(at(1)),
            error: Some("bad".to_owned()),
            dir: Some("/s/001/autoalloc/1-foo/002".to_owned()),
            ..running.clone()
        };
        vec![running, failed]
    }

    #[test]
    fn lists_of_queues() {
        golden("alloc_list.txt", &queue_list(&queues()).draw(false));
        assert_eq!(queue_notes(&queues()).len(), 2);
        assert!(queue_notes(&[]).is_empty());
        let all: Vec<Value> = queues().iter().map(queue_json).collect();
        golden("alloc_list.json", &format!("{:#}\n", Value::from(all)));
    }

    #[test]
    fn lists_of_allocations() {
        golden("alloc_info.txt", &allocation_table(&allocations(), &TimeZone::UTC).draw(false));
        golden("alloc_info_empty.txt", &allocation_table(&[], &TimeZone::UTC).draw(false));
        let all: Vec<Value> = allocations().iter().map(allocation_json).collect();
        golden("alloc_info.json", &format!("{:#}\n", Value::from(all)));
    }
}

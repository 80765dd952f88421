//! Vectors of demand: so many workers could be used. `UPDATE=1` rewrites the answers.

#![expect(clippy::disallowed_methods, reason = "the tables are files")]

mod text;

use std::fmt::Write as _;

use hq_core::{
    Amount, DepKind, Deps, JobId, JobSpec, JobTarget, LaneReport, LossReason, Profile, Span, Submit, TaskIds,
    TaskNumber, Tick, ToWorker, WorkerConfig, WorkerResources,
};
use hq_scheduler::{Action, News, Scheduler, WorkerType};
use text::{defs_of, table::check_table, variants_of};

const NOW: Tick = Tick(1_000_000);

#[test]
fn vectors() {
    check_table("demand.txt", |cells| run(cells[0], cells[1], cells[2]));
}

fn run(workers: &str, tasks: &str, types: &str) -> String {
    let mut core = Scheduler::new();
    core.boot(NOW, "uid".into(), 0, "1".into());
    for worker in workers.split_whitespace() {
        join(&mut core, worker);
    }
    let mut last: Option<JobId> = None;
    for task in tasks.split_whitespace() {
        let (task, is_canceled) = task.strip_prefix('-').map_or((task, false), |task| (task, true));
        let (task, waits) = task.strip_prefix('>').map_or((task, false), |task| (task, true));
        let job = submit(&mut core, "program", 0, task, last.filter(|_| waits));
        if is_canceled {
            core.cancel(NOW, job, None);
        }
        last = Some(job);
    }
    drain(&mut core);
    let types: Vec<WorkerType> = types.split_whitespace().map(type_of).collect();
    let demand = core.demand(NOW, &types);
    let mut answer = demand.workers.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
    let gangs = demand.gangs.iter().map(|gang| format!("{}:{} x{}", gang.worker_type, gang.nodes, gang.gangs));
    let gangs = gangs.collect::<Vec<_>>().join(", ");
    if !gangs.is_empty() {
        write!(answer, " / {gangs}").unwrap();
    }
    answer
}

fn join(core: &mut Scheduler, worker: &str) {
    let (worker, is_gone) = worker.strip_prefix("gone:").map_or((worker, false), |worker| (worker, true));
    let (resources, running) = worker.split_once('*').unwrap_or((worker, ""));
    let kind = format!("load of {:?}", core.last_worker());
    let resources = WorkerResources::new(defs_of(resources), vec![]).unwrap();
    let config = WorkerConfig { kinds: vec![kind.clone()], ..WorkerConfig::new("w", resources) };
    let id = core.join(NOW, config).unwrap();
    for cpus in running.split('+').filter(|cpus| !cpus.is_empty()) {
        submit(core, &kind, 100, cpus, None);
        drain(core);
    }
    if is_gone {
        core.handle_event(NOW, News::WorkerLost { worker: id, reason: LossReason::Stopped });
    }
}

/// What starts is told to run.
fn drain(core: &mut Scheduler) {
    while let Some(action) = core.poll_action(NOW) {
        if let Action::Send { worker, message: ToWorker::Open(open) } = action {
            let started = Some((open.work[0].runs[0].first, Span(0)));
            let lane = LaneReport { grant: open.grant, ended: vec![], started };
            core.handle_event(NOW, News::Report { worker, lane });
        }
    }
}

/// Tasks of a job of their own, or one task of an open job that waits for the last one there.
fn submit(core: &mut Scheduler, kind: &str, priority: i32, task: &str, after: Option<JobId>) -> JobId {
    let (task, count) = task.rsplit_once('x').map_or((task, 1), |(task, count)| (task, count.parse().unwrap()));
    let (priority, request) = task.split_once(':').map_or((priority, task), |(p, task)| (p.parse().unwrap(), task));
    let profile = Profile { priority, ..Profile::new(variants_of(request)) };
    let job = after.unwrap_or_else(|| core.open(NOW, JobSpec::default()));
    let mut submit = Submit::array(JobTarget::Attach(job), TaskIds::Next(count), kind, vec![].into(), profile);
    if after.is_some() {
        let before = core.job(job).unwrap().counts.total() as u32 - 1;
        submit.deps = Deps::new([[(TaskNumber(before), DepKind::Success)]]).unwrap();
    }
    core.submit(NOW, submit).unwrap()
}

fn type_of(text: &str) -> WorkerType {
    let mut parts = text.split(':');
    let (resources, seconds) = parts.next().unwrap().split_once('~').map_or_else(
        || (text.split(':').next().unwrap(), None),
        |(resources, seconds)| (resources, Some(Span::secs(seconds.parse().unwrap()))),
    );
    let mut kind = match resources.strip_suffix('?') {
        Some(known) => WorkerType::partial(defs_of(known)).unwrap(),
        None => WorkerType::exact(&WorkerResources::new(defs_of(resources), vec![]).unwrap()),
    };
    kind.time_limit = seconds;
    for part in parts {
        let (name, value) = part.split_at(1);
        match name {
            "m" => kind.workers_max = value.parse().unwrap(),
            "a" => kind.gang_max = value.parse().unwrap(),
            "u" => kind.min_utilization = value.parse::<Amount>().unwrap().parts() as u32,
            other => panic!("what is {other}?"),
        }
    }
    kind
}

//! Vectors of explanations. `UPDATE=1` rewrites them.

#![expect(clippy::disallowed_methods, reason = "the tables are files")]

mod text;

use hq_core::{
    Amount, Blocker, DepKind, Deps, Explanation, JobId, JobSpec, JobTarget, LaneReport, Need, Obstacle, Profile,
    Requirement, Span, Standing, Submit, TaskIds, TaskNumber, Tick, ToWorker, WorkerConfig, WorkerFit, WorkerResources,
    WorkerRuntime,
};
use hq_scheduler::{Action, News, Scheduler, view::WorkerView};
use text::{defs_of, table::check_table, variants_of};

const NOW: Tick = Tick(1_000_000);

#[test]
fn vectors() {
    check_table("explain.txt", |cells| run(cells[0], cells[1], cells[2]));
}

#[test]
fn what_nobody_could_run_is_said_at_once() {
    let mut core = Scheduler::new();
    core.boot(NOW, "uid".into(), 0, "1".into());
    join(&mut core, "4");
    let job = core.open(NOW, JobSpec::default());
    submit(&mut core, job, "program", "5", None);
    // No round has run yet.
    let task = core.find(job, TaskNumber(0)).unwrap();
    assert_eq!(core.explain(NOW, task).unwrap().standing, Standing::Infeasible);
}

#[test]
fn workers_that_a_gang_waits_for_are_reserved() {
    for (tasks, expected) in [("2:n3 1:1", [true, true, true]), ("1:1 2:1", [false; 3]), ("2:n2 1:4 1:4", [false; 3])] {
        let mut core = Scheduler::new();
        core.boot(NOW, "uid".into(), 0, "1".into());
        ["4*1", "4", "4"].into_iter().for_each(|worker| join(&mut core, worker));
        let job = core.open(NOW, JobSpec::default());
        tasks.split_whitespace().for_each(|task| submit(&mut core, job, "program", task, None));
        drain(&mut core);
        let reserved =
            |worker: WorkerView<'_>| matches!(worker.runtime, Some(WorkerRuntime::Single { reserved: true, .. }));
        assert_eq!(core.workers().map(reserved).collect::<Vec<_>>(), expected, "{tasks}");
    }
}

fn run(workers: &str, tasks: &str, which: &str) -> String {
    let mut core = Scheduler::new();
    core.boot(NOW, "uid".into(), 0, "1".into());
    for worker in workers.split_whitespace() {
        join(&mut core, worker);
    }
    let job = core.open(NOW, JobSpec::default());
    for (count, task) in (0..).zip(tasks.split_whitespace()) {
        let (task, waits) = task.strip_prefix('>').map_or((task, false), |task| (task, true));
        let (task, kind) = task.split_once('@').unwrap_or((task, "program"));
        submit(&mut core, job, kind, task, waits.then(|| TaskNumber(count - 1)));
    }
    drain(&mut core);
    let task = core.find(job, TaskNumber(which.strip_prefix('t').unwrap().parse().unwrap())).unwrap();
    show(&core.explain(NOW, task).unwrap())
}

fn join(core: &mut Scheduler, worker: &str) {
    let (worker, running) = worker.split_once('*').unwrap_or((worker, ""));
    let (worker, group) = worker.split_once('@').unwrap_or((worker, "default"));
    let (worker, least) = worker.split_once('/').unwrap_or((worker, "0"));
    let (worker, seconds) =
        worker.split_once('~').map_or((worker, None), |(worker, seconds)| (worker, Some(seconds.parse().unwrap())));
    let kind = format!("load of {:?}", core.last_worker());
    let resources = WorkerResources::new(defs_of(worker), vec![]).unwrap();
    let config = WorkerConfig {
        group: group.to_owned(),
        time_limit: seconds.map(Span::secs),
        min_utilization: least.parse::<Amount>().unwrap().parts() as u32,
        kinds: vec![kind.clone()],
        ..WorkerConfig::new("w", resources)
    };
    core.join(NOW, config).unwrap();
    let job = core.open(NOW, JobSpec::default());
    for cpus in running.split('+').filter(|cpus| !cpus.is_empty()) {
        submit(core, job, &kind, &format!("100:{cpus}"), None);
        drain(core);
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

fn submit(core: &mut Scheduler, job: JobId, kind: &str, task: &str, after: Option<TaskNumber>) {
    let (priority, request) = task.split_once(':').unwrap_or(("0", task));
    let profile = Profile { priority: priority.parse().unwrap(), ..Profile::new(variants_of(request)) };
    let mut submit = Submit::array(JobTarget::Attach(job), TaskIds::Next(1), kind, vec![].into(), profile);
    if let Some(after) = after {
        submit.deps = Deps::new([[(after, DepKind::Success)]]).unwrap();
    }
    core.submit(NOW, submit).unwrap();
}

fn show(explanation: &Explanation) -> String {
    let standing = match explanation.standing {
        Standing::Running => "runs".to_owned(),
        Standing::Dependencies => format!("waits for {}", explanation.unmet),
        Standing::Backlog { worker, ahead, .. } => format!("{ahead} before it on worker {worker}"),
        Standing::Withdrawn => "ends".to_owned(),
        Standing::Delayed => "delayed".to_owned(),
        Standing::Suspended { worker } => format!("suspended on {worker}"),
        Standing::Infeasible => "infeasible".to_owned(),
        Standing::NoRoom => "no room".to_owned(),
        Standing::HeldBack => {
            format!("held back by {}", explanation.blockers.iter().map(show_blocker).collect::<Vec<_>>().join(", "))
        }
        Standing::Due => "due".to_owned(),
    };
    let queue = explanation.queue.as_ref();
    let place = queue.map(|queue| format!(", {} before it", queue.ahead + queue.better)).unwrap_or_default();
    let workers = explanation.workers.iter().map(show_worker).collect::<Vec<_>>().join(" / ");
    format!("{standing}{place}: {}", if workers.is_empty() { "nobody is there" } else { &workers })
}

fn show_blocker(blocker: &Blocker) -> String {
    let size = if blocker.nodes > 0 { format!(" on {} workers", blocker.nodes) } else { String::new() };
    format!("t{}{size}", blocker.task)
}

fn show_worker(worker: &WorkerFit) -> String {
    match worker.obstacle {
        Some(obstacle) => obstacle.to_string(),
        None => {
            let variant = |requirements: &[Requirement]| {
                let lacks: Vec<String> = requirements.iter().filter_map(show_lack).collect();
                if lacks.is_empty() { "fits".to_owned() } else { lacks.join(", ") }
            };
            worker.variants.iter().map(|of| variant(&of.requirements)).collect::<Vec<_>>().join(" | ")
        }
    }
}

fn show_lack(requirement: &Requirement) -> Option<String> {
    let obstacle: Obstacle = requirement.obstacle?;
    let need = match &requirement.need {
        Need::Time { wanted, left } => format!("{}s of {}s", wanted.0 / 1_000_000, (*left)?.0 / 1_000_000),
        Need::Resource { resource, wanted, total, free } => format!("{resource} {wanted} of {total}, {free} free"),
        Need::Nodes { wanted, group, able, idle } => format!("{wanted} of {group} workers, {able} able, {idle} idle"),
        Need::Utilization { wanted, reached } => format!("{reached} of {wanted} cpus"),
    };
    Some(format!("{need} ({obstacle})"))
}

//! What the orders make of small workloads: when each task starts. `UPDATE=1` rewrites the results.

#![expect(clippy::disallowed_methods, reason = "the tables are files")]

#[path = "../../hq-scheduler/tests/text/table.rs"]
mod table;

use hq_core::{Request, Rng, Span, WorkerConfig, WorkerResources};
use hq_scheduler::Scheduler;
use hq_sim::{
    policy::{Report, Simulation},
    workload::{Workload, WorkloadTask, generate::Mix},
};
use table::check_table;

#[test]
fn starts() {
    check_table("orders.txt", |cells| {
        let workload = workload(cells[2]);
        starts_of(&simulation(cells[1], &workload).policy(cells[0], "pack").run().unwrap())
    });
}

fn simulation<'a>(workers: &str, workload: &'a Workload) -> Simulation<'a> {
    let cpus = workers.split_whitespace().map(|cpus| WorkerResources::cpus(cpus.parse().unwrap()).unwrap());
    cpus.fold(Simulation::new(1).workload(workload), |simulation, cpus| {
        simulation.workers(1, &WorkerConfig::new("w", cpus))
    })
}

/// `[arrival@]cpus*run[~estimate][/user][xCOUNT]` in seconds; `nN` instead of cpus for N whole workers.
fn workload(text: &str) -> Workload {
    let seconds = |text: &str| if text == "max" { Span(u64::MAX) } else { Span::secs(text.parse().unwrap()) };
    let mut tasks = vec![];
    for task in text.split_whitespace() {
        let (task, count) = task.split_once('x').filter(|(_, n)| n.parse::<u32>().is_ok()).unwrap_or((task, "1"));
        let (task, user) = task.split_once('/').map_or((task, None), |(task, user)| (task, Some(user)));
        let (task, estimate) = task.split_once('~').map_or((task, None), |(task, est)| (task, Some(est)));
        let (arrival, task) = task.split_once('@').unwrap_or(("0", task));
        let (size, run) = task.split_once('*').unwrap();
        let request = match size.strip_prefix('n') {
            Some(nodes) => Request::gang(nodes.parse().unwrap()),
            None => Request::cpus(size.parse().unwrap()).unwrap(),
        };
        let task = WorkloadTask {
            arrival: seconds(arrival),
            estimate: estimate.map(seconds),
            user: user.map(|user| user.parse().unwrap()),
            ..WorkloadTask::new(seconds(run), request)
        };
        tasks.extend(std::iter::repeat_n(task, count.parse().unwrap()));
    }
    Workload::new("row", tasks).unwrap()
}

fn starts_of(report: &Report) -> String {
    let start = |run: &Option<hq_sim::policy::Run>| {
        run.map_or_else(|| "-".to_owned(), |run| (run.start.0 / 1_000_000).to_string())
    };
    report.runs.iter().map(start).collect::<Vec<_>>().join(" ")
}

/// Sound estimates and wrong ones, thousands of users, gangs, tasks that all of a worker is needed for: all is run in the
/// end, by any order with any placement.
#[test]
fn everything_is_run_in_the_end() {
    let mut workload = Mix { jobs: 120, cpus_max: 8, gap: Span::secs(100), users: 4, ..Mix::SMALL };
    for order in Scheduler::new().orders() {
        for (seed, placement) in (0..).zip(["pack", "least-loaded"]) {
            workload.jobs += 1;
            let mut rng = Rng::new(seed);
            let mix = workload.workload(&mut rng).unwrap();
            let mut tasks = mix.jobs().to_vec();
            for (i, task) in tasks.iter_mut().enumerate() {
                match rng.range(0, 7) {
                    0 => task.estimate = Some(Span::ZERO),
                    1 => task.estimate = Some(Span(u64::MAX)),
                    2 => task.estimate = None,
                    3 => task.run = Span::ZERO,
                    4 => task.user = Some(1000 + i as u32),
                    5 => task.request = Request::gang(rng.range(1, 3) as u32).into(),
                    _ => {}
                }
            }
            let tasks = Workload::new("odd", tasks).unwrap();
            let report = simulation("8 8 4", &tasks).policy(order, placement).run().unwrap();
            assert_eq!(report.finished, tasks.jobs().len() as u64, "{order} {placement}");
        }
    }
}

/// One task of each of thousands of users beside a user with many: those who have had nothing go first.
#[test]
fn thousands_of_users_do_not_starve() {
    const USERS: u32 = 3_000;
    let user = |user, arrival| WorkloadTask { user: Some(user), ..task(arrival, 60, 1) };
    let mut tasks = vec![user(0, 0); 2_000];
    tasks.extend((1..=USERS).map(|n| user(n, 30)));
    let workload = Workload::new("users", tasks).unwrap();
    let report = simulation("250 250 250 250", &workload).policy("fair-share", "pack").run().unwrap();
    assert_eq!(report.finished, workload.jobs().len() as u64);
    let starts = |single| {
        let runs = report.runs.iter().zip(workload.jobs()).filter(move |(_, job)| (job.user != Some(0)) == single);
        runs.map(|(run, _)| run.unwrap().start.0 / 1_000_000)
    };
    // 1,000 of the one user run first, and the rest of its tasks when all others had their turn.
    assert!(starts(true).all(|start| (60..300).contains(&start)), "{:?}", starts(true).max());
    assert_eq!(starts(false).filter(|start| *start >= 240).count(), 1_000);
}

/// A wide task among narrow ones that never leave it room: what an order promises about starving.
#[test]
fn wide_tasks_do_not_starve() {
    let mut tasks = vec![WorkloadTask { estimate: Some(Span::secs(50)), ..task(601, 50, 4) }];
    tasks.extend((0..2000).map(|i| WorkloadTask { estimate: Some(Span::secs(30)), ..task(i * 6, 30, 1) }));
    let workload = Workload::new("stream", tasks).unwrap();
    let wide = workload.jobs().iter().position(|job| job.run == Span::secs(50)).unwrap();
    for order in ["fcfs", "sjf", "fair-share", "easy-backfill", "patience"] {
        let report = simulation("6", &workload).policy(order, "pack").run().unwrap();
        let start = report.runs[wide].unwrap().start.0 / 1_000_000;
        assert!((602..1_601).contains(&start), "{order}: {start} s");
    }
}

fn task(arrival: u64, run: u64, cpus: u32) -> WorkloadTask {
    WorkloadTask { arrival: Span::secs(arrival), ..WorkloadTask::new(Span::secs(run), Request::cpus(cpus).unwrap()) }
}

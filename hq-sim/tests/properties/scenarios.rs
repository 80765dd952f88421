//! I17, I20, I23 and I28: what needs a scenario of its own.

use std::{iter, sync::Arc};

use hq_core::{
    DepKind, Deps, JobSpec, JobTarget, LaneReport, Outcome, Profile, Request, Rng, RunEnd, Span, Submit, TaskIds,
    TaskNumber, Tick, ToWorker, WorkerConfig, WorkerResources,
};
use hq_scheduler::{
    Action, News, Scheduler,
    policy::{Placement, PlacementKey, SlotView},
};
use hq_sim::{
    Outcome as Ran, RunSpec, SIM_KIND, Simulation,
    invariants::{Asked, Counting, case::Decider, of_one_resource_scarce_last, same_cost, scarce_last, within_twice},
};

fn worker(cpus: u32) -> WorkerConfig {
    WorkerConfig::new("w", WorkerResources::cpus(cpus).unwrap())
}

fn tasks(count: u32, cpus: u32, priority: i32, takes: Span) -> Submit {
    let profile = Profile { priority, ..Profile::new(Request::cpus(cpus).unwrap()) };
    let target = JobTarget::New(JobSpec::default());
    Submit::array(target, TaskIds::Next(count), SIM_KIND, RunSpec::takes(takes).blob(), profile)
}

/// Two workers of four; two small tasks each `pace`, of which a worker of four runs about as many; and at some time one that needs
/// a whole worker.
fn stream(order: &str, placement: &str, (paces, pace): (u64, Span), priority: i32, patience: Span) -> Ran {
    // Nobody falls silent, so that hours need not be looked at by the second.
    let worker = WorkerConfig { heartbeat: Span::secs(3_600), ..worker(4) };
    let mut simulation = Simulation::new(1).workers(2, &worker).policy(order, placement).patience(patience);
    let mut rng = Rng::new(7);
    for n in 0..paces {
        let takes = Span(rng.range(3 * pace.0, 6 * pace.0));
        simulation = simulation.submit_at(pace.times(n), tasks(2, 1, 0, takes));
    }
    simulation.submit_at(pace.times(20), tasks(1, 4, priority, pace.times(2))).run()
}

#[test]
fn i17_a_stream_of_small_tasks_starves_nobody() {
    let pace = (120, Span::millis(500));
    // The longest run, and some messages.
    let patience = Span::millis(3_100);
    for (order, priority) in [("priority", 1), ("fcfs", 1), ("fcfs", 0)] {
        let ran = stream(order, "pack", pace, priority, patience);
        ran.report.unwrap_or_else(|broken| panic!("{order}, {priority}: {broken}"));
    }
    let broken = stream("priority", "pack", pace, 1, Span::millis(300)).report.unwrap_err();
    assert!(broken.what.contains("I17"), "nobody is as fast as that: {broken}");
}

/// Of equal priority it is overdue after 64 starts for each of the eight lanes, of which there are 17 a second; what nobody knows
/// anything about counts as an hour, of which ten or six pass.
#[test]
fn i17_equals_starve_nobody_either() {
    let (fast, slow) = ((400, Span::millis(100)), (60, Span::secs(1_200)));
    let hours = |n: u64| Span::secs(3_600 * n + 1);
    for order in Scheduler::new().orders() {
        let (pace, patience) = match order {
            "priority" => (fast, Span::secs(30)),
            // The longest runs, one behind the other.
            "fcfs" | "easy-backfill" | "easy-shortest" | "easy-smallest" => (slow, hours(4)),
            "patience" => (slow, hours(6 + 4)),
            _ => (slow, hours(10 + 4)),
        };
        let ran = stream(order, "pack", pace, 0, patience);
        ran.report.unwrap_or_else(|broken| panic!("{order}: {broken}"));
    }
    let broken = stream("priority", "pack", fast, 0, Span::secs(3)).report.unwrap_err();
    assert!(broken.what.contains("I17"), "it is passed for a while: {broken}");
}

/// The worker with the fewest free gpus.
#[derive(Debug)]
struct FewestGpus;

impl Placement for FewestGpus {
    fn name(&self) -> &'static str {
        "fewest-gpus"
    }

    fn key(&self, slot: &SlotView<'_>) -> PlacementKey {
        (slot.free_of("gpus").parts().cast_signed(), 0)
    }
}

#[test]
fn i20_the_gpu_is_left_to_who_needs_it() {
    let core = || {
        let mut core = Scheduler::new();
        core.add_placement(Box::new(FewestGpus));
        core
    };
    let by = |placement: &str| Decider { core, order: "priority".to_owned(), placement: placement.to_owned() };
    for placement in ["fewest-gpus", "pack"] {
        scarce_last(&by(placement)).unwrap();
    }
    of_one_resource_scarce_last(&by("least-fragmenting")).unwrap();
    assert!(scarce_last(&by("first-fit")).unwrap_err().contains("I20"), "it takes the first, as its name says");
}

/// Ranks and keys that are asked for at first, and after one end, with so many waiting tasks of each of five classes.
fn asked(waiting: u32) -> ((u64, u64), (u64, u64)) {
    let asked = Arc::new(Asked::default());
    let mut core = Scheduler::new();
    core.add_order(Box::new(Counting(asked.clone())));
    core.add_placement(Box::new(Counting(asked.clone())));
    core.boot(Tick(0), "uid".into(), 0, "1".into());
    core.set_policy(Tick(0), "counting", "counting").unwrap();
    for _ in 0..8 {
        let mut worker = worker(16);
        worker.kinds.push(SIM_KIND.to_owned());
        core.join(Tick(1), worker).unwrap();
    }
    for cpus in 1..=5 {
        core.submit(Tick(1), tasks(waiting, cpus, i32::try_from(cpus).unwrap(), Span(0))).unwrap();
    }
    let actions: Vec<Action> = iter::from_fn(|| core.poll_action(Tick(1))).collect();
    let first = asked.take();
    let opened = actions.into_iter().find_map(|action| match action {
        Action::Send { worker, message: ToWorker::Open(open) } => {
            Some((worker, open.grant, open.work.first()?.runs.first()?.first))
        }
        _ => None,
    });
    let (worker, grant, task) = opened.expect("something starts");
    let ended = vec![RunEnd { task, age: Span(0), took: Span::secs(1), outcome: Outcome::Finished }];
    core.handle_event(Tick(2), News::Report { worker, lane: LaneReport { grant, ended, started: None } });
    assert!(iter::from_fn(|| core.poll_action(Tick(2))).count() > 0);
    (first, asked.take())
}

#[test]
fn i23_work_does_not_follow_the_waiting_tasks() {
    let (few, many) = (asked(1_000), asked(1_000_000));
    same_cost(few.0, many.0).unwrap();
    same_cost(few.1, many.1).unwrap();
    assert!(few.0.0 > 0 && few.0.1 > 0, "nobody was asked: {few:?}");
    assert!(same_cost(asked(1).0, many.0).is_err(), "what starts is work");
}

#[test]
fn i28_twice_the_bound_at_most() {
    let mut worst = 0;
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        // On one worker tasks of any width; on many, narrow ones.
        let (workers, cpus) = if rng.chance(50) { (1, rng.range(2, 12) as u32) } else { (rng.range(2, 6), 1) };
        let count = rng.range(1, 40) as u32;
        let mut simulation = Simulation::new(seed).workers(workers as usize, &worker(cpus));
        let (mut work, mut longest) = (0, 0);
        for _ in 0..count {
            let width = rng.range(1, cpus.into()) as u32;
            let most = if rng.chance(20) { 60_000 } else { 5_000 };
            let takes = Span::millis(rng.range(1_000, most));
            work += takes.0 * u64::from(width);
            longest = longest.max(takes.0);
            simulation = simulation.submit_at(Span::ZERO, tasks(1, width, 0, takes));
        }
        let report = simulation.run().report.unwrap();
        let bound = Span(longest.max(work.div_ceil(workers * u64::from(cpus))));
        within_twice(report.makespan, bound, Span::millis(1).times(count.into()))
            .unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        worst = worst.max(report.makespan.0 * 1_000 / bound.0);
    }
    assert!(worst > 1_000, "no schedule is that good everywhere");
    assert!(within_twice(Span::secs(5), Span::secs(2), Span::millis(1)).unwrap_err().contains("I28"));
}

#[test]
fn i28_graphs_as_well() {
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let (workers, count) = (rng.range(1, 5), rng.range(2, 40) as u32);
        let takes: Vec<Span> = (0..count).map(|_| Span::millis(rng.range(1_000, 9_000))).collect();
        let rows: Vec<Vec<(TaskNumber, DepKind)>> = (0..count)
            .map(|i| {
                (0..if i == 0 { 0 } else { rng.below(3) })
                    .map(|_| (TaskNumber(rng.below(i.into()) as u32), DepKind::Success))
                    .collect()
            })
            .collect();
        let mut ends: Vec<u64> = Vec::new();
        for (row, takes) in rows.iter().zip(&takes) {
            let start = row.iter().map(|(on, _)| ends[on.0 as usize]).max().unwrap_or(0);
            ends.push(start + takes.0);
        }
        let work: u64 = takes.iter().map(|takes| takes.0).sum();
        let bound = Span(ends.into_iter().max().unwrap_or(0).max(work.div_ceil(workers)));
        let mut submit = tasks(count, 1, 0, Span(0));
        submit.deps = Deps::new(rows).unwrap();
        submit.parts =
            hq_core::Parts::new(takes.iter().map(|takes| RunSpec::takes(*takes).bytes()).collect::<Vec<_>>()).unwrap();
        let report = Simulation::new(seed)
            .workers(workers as usize, &worker(1))
            .submit_at(Span::ZERO, submit)
            .run()
            .report
            .unwrap();
        within_twice(report.makespan, bound, Span::millis(1).times(count.into()))
            .unwrap_or_else(|what| panic!("seed {seed}: {what}"));
    }
}

//! Policies on workloads: figures that can be worked out by hand, a naive reference, and what must hold of any policy.

mod policy_reference;

use std::cell::Cell;

use hq_core::{Request, Rng, Span, Tick, WorkerConfig, WorkerResources};
use hq_scheduler::policy::{Order, PassRule, Placement, PlacementKey, QueueView, Rank, SlotView};
use hq_sim::{
    machines,
    policy::{Report, Simulation},
    workload::{
        Workload, WorkloadTask,
        generate::{Mix, PlanInstance, array, gpu_nodes, gpu_pods},
        job_list, openb,
    },
};
use policy_reference::{Backfilling, By};

fn worker(cpus: u32) -> WorkerConfig {
    WorkerConfig::new("node", WorkerResources::cpus(cpus).unwrap())
}

/// Of (arrival, run, cpus).
fn jobs(rows: &[(u64, u64, u32)]) -> Workload {
    let task = |(arrival, run, cpus): &(u64, u64, u32)| WorkloadTask {
        arrival: Span::secs(*arrival),
        ..WorkloadTask::new(Span::secs(*run), Request::cpus(*cpus).unwrap())
    };
    Workload::new("jobs", rows.iter().map(task).collect()).unwrap()
}

fn starts(report: &Report) -> Vec<u64> {
    report.runs.iter().map(|run| run.map_or(u64::MAX, |run| run.start.0 / 1_000_000)).collect()
}

#[test]
fn makespans_are_what_they_must_be() {
    for (workers, cpus, n, each, rounds) in [(1, 1, 10, 1, 10), (2, 4, 80, 1, 10), (3, 4, 6, 4, 2), (2, 3, 9, 2, 5)] {
        let tasks = array(n, &Request::cpus(each).unwrap(), Span::secs(10)).unwrap();
        let known = Simulation::new(1);
        for order in known.orders() {
            for placement in known.placements() {
                let simulation = Simulation::new(1).workers(workers, &worker(cpus)).workload(&tasks);
                let report = simulation.policy(&order, &placement).run().unwrap();
                assert_eq!(report.makespan, Span::secs(10 * rounds), "{workers}x{cpus} {order} {placement}");
                assert_eq!((report.arrived, report.started, report.finished), (n as u64, n as u64, n as u64));
                assert!(report.decisions >= n as u64 && report.facts > report.decisions && report.rounds > 0);
            }
        }
    }
}

/// Four cpus: 3 for 100 s, then 2 for 10 s, then 1 for 20 s, which only an order without ranks would start first.
#[test]
fn figures_by_hand() {
    let workload = jobs(&[(0, 100, 3), (10, 10, 2), (20, 20, 1)]);
    let report = Simulation::new(1).workers(1, &worker(4)).workload(&workload).policy("fcfs", "pack").run().unwrap();
    assert_eq!(starts(&report), [0, 100, 100]);
    assert_eq!(report.makespan, Span::secs(120));
    let waits = report.waits;
    assert_eq!(
        [waits.mean, waits.p50, waits.p95, waits.max],
        [170_000_000 / 3, 80_000_000, 90_000_000, 90_000_000].map(Span)
    );
    assert_eq!((report.slowdown_max, report.slowdown_p95), (10.0, 10.0));
    assert!((report.slowdown_mean - (1.0 + 10.0 + 5.0) / 3.0).abs() < 1e-6);
    assert_eq!(report.utilisation("cpus"), (300.0 + 20.0 + 20.0) / 480.0);
    assert_eq!((report.utilisation("gpus"), report.jain), (0.0, None));
    let usage = report.usage_of("cpus").unwrap();
    assert_eq!([0, 99, 100, 115, 120].map(|at| usage.at(Tick(at * 1_000_000)).whole()), [3, 3, 3, 1, 0]);
    assert_eq!(usage.buckets(6)[..5], [0.75; 5]);
}

#[test]
fn dependents_wait_for_the_last_of_them() {
    let task = |arrival, run, deps: &[usize]| WorkloadTask {
        arrival: Span::secs(arrival),
        deps: deps.to_vec(),
        ..WorkloadTask::new(Span::secs(run), Request::cpus(1).unwrap())
    };
    let tasks = vec![task(0, 5, &[]), task(0, 8, &[]), task(2, 1, &[0, 1]), task(20, 1, &[2]), task(20, 0, &[3])];
    let workload = Workload::new("graph", tasks).unwrap();
    let report = Simulation::new(1).workers(1, &worker(4)).workload(&workload).run().unwrap();
    assert_eq!(starts(&report), [0, 0, 8, 20, 21]);
    assert_eq!(report.waits.max, Span::ZERO, "waiting for others is no fault of the policy");
}

#[test]
fn a_gang_uses_whole_workers() {
    let tasks =
        vec![WorkloadTask::new(Span::secs(10), Request::gang(2)), WorkloadTask::new(Span::secs(10), Request::gang(1))];
    let workload = Workload::new("gangs", tasks).unwrap();
    let report = Simulation::new(1).workers(4, &worker(8)).workload(&workload).run().unwrap();
    assert_eq!((report.finished, report.utilisation("cpus")), (2, 0.75));
}

#[test]
fn what_cannot_run_is_counted() {
    let workload = jobs(&[(0, 10, 8), (5, 10, 1)]);
    let report = Simulation::new(1).workers(1, &worker(4)).workload(&workload).run().unwrap();
    assert_eq!((report.arrived, report.started, report.runs[0]), (2, 1, None));
    let cut = Simulation::new(1).workers(1, &worker(4)).workload(&workload).until(Span::secs(9)).run().unwrap();
    assert_eq!((cut.started, cut.finished, cut.makespan), (1, 0, Span::secs(9)));
    assert_eq!((cut.utilisation("cpus"), cut.runs[1].unwrap().end), (4.0 / 36.0, None));
    let error = Simulation::new(1).policy("fastest", "pack").run().unwrap_err().to_string();
    assert!(error.starts_with("the policy cannot be chosen: "), "{error}");
    assert_eq!(Simulation::new(1).run().unwrap().arrived, 0);
}

/// The reference itself, by hand: 3 of 4 cpus for 100 s, all for 50 s, one for 80 s, one for the last's time.
#[test]
fn the_reference_is_right() {
    for (last, by, backfilling, expected) in [
        (60, By::Arrival, Backfilling::None, [0, 100, 150, 150]),
        (60, By::Arrival, Backfilling::Easy, [0, 100, 20, 150]),
        (40, By::Arrival, Backfilling::Easy, [0, 100, 20, 150]),
        (60, By::Estimate, Backfilling::Easy, [0, 100, 20, 150]),
        (40, By::Estimate, Backfilling::Easy, [0, 140, 20, 100]),
        (60, By::Area, Backfilling::Easy, [0, 160, 20, 100]),
    ] {
        let workload = jobs(&[(0, 100, 3), (10, 50, 4), (20, 80, 1), (30, last, 1)]);
        let starts = policy_reference::starts(&workload, 4, by, backfilling);
        assert_eq!(starts, expected.map(Span::secs), "{last} {by:?} {backfilling:?}");
    }
    // Two end at the shadow time, and what both free counts: two are left beside the first that waits.
    let workload = jobs(&[(0, 100, 2), (0, 100, 1), (10, 50, 3), (20, 500, 2)]);
    let starts = policy_reference::starts(&workload, 5, By::Arrival, Backfilling::Easy);
    assert_eq!(starts, [0, 0, 100, 20].map(Span::secs));
}

/// The smallest case, then random ones.
#[test]
fn fcfs_is_what_a_naive_one_does() {
    // When the first ends, the second goes on in its lane, and the third fits beside it.
    let mut workloads =
        vec![jobs(&[(0, 10, 3), (1, 10, 3), (2, 10, 1)]), jobs(&[(0, 10, 3), (1, 10, 3), (2, 10, 1), (3, 1, 3)])];
    for seed in 0..20 {
        let mix = Mix { jobs: 300, cpus_max: 4, gap: Span::secs(900), ..Mix::SMALL };
        workloads.push(mix.workload(&mut Rng::new(seed)).unwrap());
    }
    for (i, workload) in workloads.iter().enumerate() {
        let report = Simulation::new(1).workers(1, &worker(4)).workload(workload).policy("fcfs", "pack").run().unwrap();
        let starts: Vec<Span> = report.runs.iter().map(|run| Span(run.unwrap().start.0)).collect();
        assert_eq!(starts, policy_reference::starts(workload, 4, By::Arrival, Backfilling::None), "workload {i}");
    }
}

#[test]
fn easy_backfilling_is_what_a_naive_one_does() {
    for seed in 0..8 {
        let mix = Mix { jobs: 150, cpus_max: 8, gap: Span::secs(600), ..Mix::SMALL };
        let workload = mix.workload(&mut Rng::new(seed)).unwrap();
        for (order, by) in
            [("easy-backfill", By::Arrival), ("easy-shortest", By::Estimate), ("easy-smallest", By::Area)]
        {
            // There is one worker: placements make no difference.
            for placement in ["pack", "least-loaded"] {
                let simulation = Simulation::new(1).workers(1, &worker(8)).workload(&workload);
                let report = simulation.policy(order, placement).run().unwrap();
                let starts: Vec<Span> = report.runs.iter().map(|run| Span(run.unwrap().start.0)).collect();
                let expected = policy_reference::starts(&workload, 8, by, Backfilling::Easy);
                assert_eq!(starts, expected, "{order}, {placement}, seed {seed}");
            }
        }
    }
}

/// A short one makes its class look short; the long ones that follow must still start in order of priority, and not wait
/// behind one another while less urgent ones start.
#[test]
fn the_more_urgent_one_starts_first() {
    let task = |arrival, run, priority| WorkloadTask {
        arrival: Span::secs(arrival),
        priority,
        ..WorkloadTask::new(run, Request::cpus(1).unwrap())
    };
    let mut tasks = vec![task(0, Span::millis(100), 0), task(1, Span::secs(100), 9)];
    tasks.extend((0..6).map(|i| task(1, Span::secs(10), 8 - i)));
    let workload = Workload::new("inversion", tasks).unwrap();
    let report =
        Simulation::new(1).workers(1, &worker(2)).workload(&workload).policy("priority", "pack").run().unwrap();
    assert_eq!(starts(&report), [0, 1, 1, 11, 21, 31, 41, 51]);
}

/// Ranks and keys out of nowhere.
#[derive(Debug)]
struct Hostile(u64);

impl Hostile {
    fn number(&self, of: u64) -> i64 {
        Rng::new(self.0 ^ of.wrapping_mul(0x9e37_79b9)).next_u64().cast_signed()
    }
}

impl Order for Hostile {
    fn name(&self) -> &str {
        "hostile"
    }

    fn rank(&self, queue: &QueueView) -> Rank {
        (self.number(queue.head.0), self.number(queue.waiting))
    }

    fn pass_rule(&self) -> PassRule {
        RULES[self.0 as usize % 4]
    }

    fn pass_rule_of(&self, blocked: &QueueView) -> PassRule {
        if self.0 < 2 { self.pass_rule() } else { RULES[(blocked.head.0 + self.0) as usize % 4] }
    }

    fn ages(&self) -> bool {
        self.0.is_multiple_of(2)
    }

    fn reservations(&self) -> usize {
        [0, 1, 2, usize::MAX][self.0 as usize % 4]
    }
}

const RULES: [PassRule; 4] = [PassRule::Strict, PassRule::Gap, PassRule::Free, PassRule::Shadow];

impl Placement for Hostile {
    fn name(&self) -> &str {
        "hostile"
    }

    fn key(&self, slot: &SlotView<'_>) -> PlacementKey {
        (self.number(slot.worker.0.into()), self.number(slot.value))
    }
}

/// Extremes, and another answer each time it is asked.
#[derive(Debug, Default)]
struct Fickle(Cell<u64>);

impl Placement for Fickle {
    fn name(&self) -> &str {
        "fickle"
    }

    fn key(&self, slot: &SlotView<'_>) -> PlacementKey {
        let asked = self.0.get() + 1;
        self.0.set(asked);
        let extreme = |n: u64| [i64::MIN, i64::MAX, 0, -1][(n % 4) as usize];
        (extreme(asked), extreme(asked / 4 + u64::from(slot.variant)))
    }
}

/// All that comes is worse than what was before: no rank lasts for as long as a round.
#[derive(Debug)]
struct Worsening(Cell<i64>, PassRule);

impl Order for Worsening {
    fn name(&self) -> &str {
        "worsening"
    }

    fn rank(&self, _: &QueueView) -> Rank {
        self.0.set(self.0.get() + 1);
        (self.0.get(), 0)
    }

    fn stride(&self, _: &QueueView) -> u64 {
        0
    }

    fn pass_rule(&self) -> PassRule {
        self.1
    }
}

#[test]
fn rounds_end_whatever_an_order_answers() {
    let mix = Mix { jobs: 25, cpus_max: 8, ..Mix::SMALL }.workload(&mut Rng::new(1)).unwrap();
    for rule in RULES {
        let order = Box::new(Worsening(Cell::new(0), rule));
        let simulation = Simulation::new(1).workers(2, &worker(8)).workload(&mix).add_order(order);
        hold(&simulation.policy("worsening", "pack").run().unwrap(), &mix);
    }
}

fn hold(report: &Report, workload: &Workload) {
    assert_eq!(report.finished, workload.jobs().len() as u64);
    for (job, run) in workload.jobs().iter().zip(&report.runs) {
        let run = run.unwrap();
        assert!(run.start.0 >= job.arrival.0 && run.end == Some(run.start.after(job.run)), "{job:?} {run:?}");
        assert!(job.deps.iter().all(|on| report.runs[*on].unwrap().end.unwrap() <= run.start), "{job:?} {run:?}");
    }
    for usage in &report.usage {
        assert!(usage.steps.iter().all(|(_, used)| *used <= usage.total), "{} over-committed", usage.resource);
        assert!(usage.steps.last().is_none_or(|(_, used)| used.is_zero()));
    }
}

/// No policy can over-commit, lose a task or run one twice; one seed is one run.
#[test]
fn hostile_policies_are_only_unfair() {
    for seed in 0..6 {
        let mix = Mix { jobs: 150, cpus_max: 8, ..Mix::SMALL };
        let mut workload = mix.workload(&mut Rng::new(seed)).unwrap();
        if seed % 2 == 0 {
            // A random graph on top.
            let mut rng = Rng::new(seed);
            let tasks = workload.jobs().iter().enumerate().map(|(i, job)| {
                let deps = (0..rng.below(3)).filter(|_| i > 0).map(|_| rng.below(i as u64) as usize).collect();
                WorkloadTask { deps, priority: rng.range(0, 5) as i32, ..job.clone() }
            });
            workload = Workload::new("graph", tasks.collect()).unwrap();
        }
        for (order, placement) in [
            ("priority", "pack"),
            ("fcfs", "least-loaded"),
            ("hostile", "hostile"),
            ("priority", "hostile"),
            ("priority", "fickle"),
            ("hostile", "least-fragmenting"),
        ] {
            let run = || {
                let simulation =
                    Simulation::new(seed).workers(2, &worker(8)).workers(1, &worker(3)).workload(&workload);
                let simulation = simulation.add_order(Box::new(Hostile(seed))).add_placement(Box::new(Hostile(seed)));
                let simulation = simulation.add_placement(Box::new(Fickle::default()));
                simulation.policy(order, placement).run().unwrap()
            };
            let report = run();
            hold(&report, &workload);
            assert!(seed > 1 || report == run(), "{order} {placement}");
        }
    }
}

#[test]
fn users_are_compared() {
    let workload = Mix { gap: Span::secs(20), ..Mix::SMALL }.workload(&mut Rng::new(3)).unwrap();
    let report = Simulation::new(1).workers(1, &worker(32)).workload(&workload).policy("fcfs", "pack").run().unwrap();
    let jain = report.jain.unwrap();
    assert!(jain > 0.1 && jain <= 1.0, "{jain}");
    let waits = report.waits;
    assert!(waits.p50 <= waits.p95 && waits.p95 <= waits.p99 && waits.p99 <= waits.max && waits.mean <= waits.max);
    assert!(report.to_string().contains("Jain's index over users 0."), "{report}");
}

/// Shares of a GPU come from one index: two of 0.6 need two.
#[test]
fn shares_come_from_one_gpu() {
    let node = openb::read_nodes("sn,cpu_milli,memory_mib,gpu,model\nn,8000,1024,2,T4\n").unwrap();
    let pod = |milli: u64| openb::Pod {
        name: String::new(),
        cpu_milli: 100,
        memory_mib: 1,
        gpus: 1,
        gpu_milli: milli,
        models: vec!["T4".to_owned()],
        created: Span::ZERO,
        deleted: Span::secs(10),
    };
    for (shares, started) in
        [(&[600, 600][..], 2), (&[600, 600, 600], 2), (&[500, 500, 500, 500, 500], 4), (&[600, 400, 1000], 3)]
    {
        let pods: Vec<openb::Pod> = shares.iter().map(|milli| pod(*milli)).collect();
        let workload = openb::workload("pods", &pods).unwrap();
        let simulation = Simulation::new(1).workers(1, &node[0].config().unwrap()).workload(&workload);
        let report = simulation.until(Span::secs(5)).run().unwrap();
        assert_eq!(report.started, started, "{shares:?}");
    }
}

#[test]
fn plan_instances_run() {
    for seed in 0..30 {
        let plan = PlanInstance::small(&mut Rng::new(seed));
        let workload = plan.workload().unwrap();
        let mut simulation = Simulation::new(seed).workload(&workload);
        for config in plan.configs() {
            simulation = simulation.workers(1, &config);
        }
        let report = simulation.run().unwrap();
        assert_eq!(report.started, report.finished);
        for usage in &report.usage {
            assert!(usage.steps.iter().all(|(_, used)| *used <= usage.total), "seed {seed}");
        }
    }
}

/// Of a cluster by its description.
fn simulate(cluster: &str, workload: &Workload) -> Report {
    let cluster = machines::parse(cluster).unwrap();
    Simulation::new(1).cluster(&cluster).workload(workload).run().unwrap()
}

#[test]
fn workers_come_and_go() {
    // One cpu for 60 s, then three; the task of 100 s is cut at 60 s and runs again as soon as there is a place.
    let workload = jobs(&[(0, 100, 1), (0, 10, 2)]);
    let report = simulate("cpus=1 time-limit=60; cpus=3 arrives=80", &workload);
    assert_eq!(starts(&report), [80, 80]);
    assert_eq!((report.started, report.finished, report.lost, report.makespan), (2, 2, 1, Span::secs(180)));
    assert_eq!(report.waits.max, Span::secs(80));
    let cpus = report.usage_of("cpus").unwrap();
    assert_eq!((cpus.total, cpus.peak()), (hq_core::Amount::units(3), hq_core::Amount::units(3)));
    assert_eq!(cpus.mean(), (60.0 + 100.0 + 20.0) / (60.0 + 300.0));
    // Who says how long it takes is not cut.
    let text = "run,time-request\n100,100\n";
    let careful = job_list::read("careful", text).unwrap();
    let report = simulate("cpus=1 time-limit=60; cpus=1 arrives=80", &careful);
    assert_eq!((starts(&report), report.lost), (vec![80], 0));
    // Nobody waits for workers when all is done, and nobody for tasks that have no place any more.
    assert_eq!(simulate("cpus=1 time-limit=1d", &jobs(&[(0, 5, 1)])).makespan, Span::secs(5));
    let report = simulate("cpus=1 time-limit=10", &jobs(&[(0, 50, 1), (20, 5, 1)]));
    assert_eq!((report.arrived, report.finished, report.lost), (2, 0, 1));
    assert_eq!(report.makespan, Span::secs(10));
}

/// It goes on without a member, and runs again where its main worker goes.
#[test]
fn a_gang_that_loses_a_member() {
    let tasks = vec![WorkloadTask::new(Span::secs(100), Request::gang(2))];
    let workload = Workload::new("gang", tasks).unwrap();
    for (cluster, start, lost) in [
        ("cpus=1; cpus=1 time-limit=30; cpus=1 arrives=50", 0, 0),
        ("cpus=1 time-limit=30; cpus=1; cpus=1 arrives=50", 50, 1),
    ] {
        let report = simulate(cluster, &workload);
        assert_eq!((starts(&report), report.lost, report.finished), (vec![start], lost, 1), "{cluster}");
        assert_eq!(report.makespan, Span::secs(start + 100), "{cluster}");
        let cpus = report.usage_of("cpus").unwrap();
        let free =
            |(at, used): &(Tick, hq_core::Amount)| cpus.offered.iter().rfind(|of| of.0 <= *at).unwrap().1 >= *used;
        assert!(cpus.steps.iter().all(free), "{cluster}: {cpus:?}");
    }
}

/// One seed, one trace: to the byte; and every start in it has its end.
#[test]
fn a_seed_is_a_trace() {
    let workload = Mix { jobs: 200, cpus_max: 8, ..Mix::SMALL }.workload(&mut Rng::new(5)).unwrap();
    let cluster = machines::parse("2x cpus=8; cpus=8 arrives=10m time-limit=1h").unwrap();
    let trace = |seed: u64, order: &str| {
        let mut text = String::new();
        let simulation = Simulation::new(seed).cluster(&cluster).workload(&workload).policy(order, "pack");
        let report = simulation.trace_to(&mut text).run().unwrap();
        (text, report)
    };
    for order in ["priority", "fcfs"] {
        let (text, report) = trace(1, order);
        assert_eq!(text, trace(1, order).0, "{order}");
        let count = |word: &str| text.lines().filter(|line| line.contains(word)).count() as u64;
        let runs = report.finished + report.lost;
        assert_eq!((count(" start "), count(" end "), count(" finished")), (runs, runs, report.finished));
        assert_eq!((count(" join "), count(" leave ")), (3, 1));
    }
    assert_ne!(trace(1, "priority").0, trace(1, "fcfs").0);
}

#[test]
fn lines_of_a_trace() {
    let text = "run,count,request,nodes\n10,2,\"cpus=2; gpus=0.5; mem=3\",\n5,1,,2\n";
    let workload = job_list::read("mine", text).unwrap();
    let cluster = machines::parse("cpus=2x2 gpus=[a] mem=sum(8) host=a; cpus=1 host=b").unwrap();
    let mut trace = String::new();
    Simulation::new(1).cluster(&cluster).workload(&workload).trace_to(&mut trace).run().unwrap();
    let expected = "\
0 join worker=1 host=\"a\" group=\"default\" cpus=4 gpus=1 mem=8
0 join worker=2 host=\"b\" group=\"default\" cpus=1
0 submit tasks=0-2
0 start task=2 worker=1,2
5000000 end task=2 finished
5000000 start task=0 worker=1 cpus=[0,1] gpus=[0:0.5] mem=3
5000000 start task=1 worker=1 cpus=[2,3] gpus=[0:0.5] mem=3
15000000 end task=0 finished
15000000 end task=1 finished
";
    assert_eq!(trace, expected);
}

#[test]
fn policies_are_listed() {
    let simulation = Simulation::new(1).add_order(Box::new(Hostile(1)));
    assert!(simulation.orders().iter().any(|name| name == "hostile"));
    assert!(simulation.orders().iter().any(|name| name == "fcfs"));
    assert!(simulation.placements().is_sorted() && simulation.placements().iter().any(|name| name == "pack"));
}

/// A quarter of a GPU that is too small for others, and GPUs without cpus.
#[test]
fn what_is_free_and_of_no_use() {
    let node = openb::read_nodes("sn,cpu_milli,memory_mib,gpu,model\nn,4000,1024,2,\n").unwrap();
    let pod = |cpu_milli, gpu_milli, from, to| openb::Pod {
        name: String::new(),
        cpu_milli,
        memory_mib: 0,
        gpus: u32::from(gpu_milli > 0),
        gpu_milli,
        models: vec![],
        created: Span::secs(from),
        deleted: Span::secs(to),
    };
    // Of the 0.4 left by the first none can be used; of the 0.5 left by the second, half of the tasks can make use. While the
    // third has all cpus, both GPUs are of no use.
    let pods = [pod(1000, 600, 0, 10), pod(1000, 500, 20, 30), pod(4000, 0, 40, 50)];
    let workload = openb::workload("pods", &pods).unwrap();
    let report = Simulation::new(1).workers(1, &node[0].config().unwrap()).workload(&workload).run().unwrap();
    let gpus = report.useless.iter().find(|usage| usage.resource.as_str() == openb::GPUS).unwrap();
    let at = |secs: u64| gpus.at(Tick(secs * 1_000_000)).to_string();
    assert_eq!([0, 5, 15, 25, 35, 45, 50].map(at), ["0.4", "0.4", "0", "0.25", "0", "2", "0"]);
    let (useless, free) = (4.0 + 2.5 + 20.0, 100.0 - 6.0 - 5.0);
    assert!((report.fragmentation(openb::GPUS) - useless / free).abs() < 1e-9, "{}", report.fragmentation(openb::GPUS));
    assert_eq!(report.fragmentation("nothing"), 0.0);
    assert!(report.to_string().contains("% of the rest of no use"), "{report}");
}

/// Pods that do not go, until as many GPUs are asked for as there are: how many are in use then, in parts.
fn gpus_in_use(placement: &str, seed: u64) -> u64 {
    let mut rng = Rng::new(seed);
    let (nodes, pods) = (gpu_nodes(&mut rng, 40), gpu_pods(&mut rng, 100));
    let gpus = nodes.iter().map(|node| node.gpus).sum();
    let arrivals = openb::arrivals(&pods, gpus, 130, &mut rng).unwrap();
    let mut simulation = Simulation::new(seed).add_order(Box::new(Arrival)).workload(&arrivals.workload);
    for node in &nodes {
        simulation = simulation.workers(1, &node.config().unwrap());
    }
    let report = simulation.policy("arrival", placement).until(arrivals.full_at).run().unwrap();
    report.usage_of(openb::GPUS).unwrap().at(Tick(arrivals.full_at.0)).parts()
}

/// Whoever came first, and anything may overtake.
#[derive(Debug)]
struct Arrival;

impl Order for Arrival {
    fn name(&self) -> &str {
        "arrival"
    }

    fn rank(&self, queue: &QueueView) -> Rank {
        (queue.head.0.cast_signed(), 0)
    }

    fn pass_rule(&self) -> PassRule {
        PassRule::Free
    }
}

#[test]
fn least_fragmenting_puts_more_gpus_to_use() {
    let placements = ["least-fragmenting", "pack", "first-fit", "round-robin"];
    let mut sums = placements.map(|_| 0);
    for seed in 0..4 {
        for (sum, placement) in sums.iter_mut().zip(placements) {
            *sum += gpus_in_use(placement, seed);
        }
    }
    let [best, others @ ..] = sums;
    assert!(others.iter().all(|other| *other < best), "{placements:?}: {sums:?}");
}

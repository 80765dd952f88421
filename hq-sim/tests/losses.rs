//! Losses between any two steps: small scripted runs, each again and again with something that goes wrong one step later. All
//! invariants look on, and what was submitted has to end, each task once.
//!
//! Crashes come after each step; silence and restarts after one in three, or after each with `HQ_SIM_EVERY=1` (`cargo xtask deep`).

use std::collections::BTreeMap;

use hq_core::{
    ClientRequest, CrashLimit, DepKind, Deps, JobSpec, JobTarget, Profile, Request, ResourceDef, ResourceEntry,
    Selector, Span, Submit, TaskIds, TaskNumber, WorkerConfig, WorkerResources,
};
use hq_sim::{Mishap, RunSpec, SIM_KIND, Simulation};

/// One whose silence is soon noticed, and that leaves when all is done.
fn worker(cpus: &str) -> WorkerConfig {
    WorkerConfig { heartbeat: Span::millis(200), idle_timeout: Some(Span::secs(2)), ..healer(cpus) }
}

fn healer(cpus: &str) -> WorkerConfig {
    let cpus = ResourceDef::parse_cpus(cpus).unwrap();
    let config = WorkerConfig::new("node", WorkerResources::new(vec![cpus], vec![]).unwrap());
    WorkerConfig { kinds: vec![SIM_KIND.to_owned()], ..config }
}

fn cpus(text: &str) -> Request {
    Request::new(vec![ResourceEntry::parse(&format!("cpus={text}")).unwrap()]).unwrap()
}

fn tasks(n: u32, request: Request, priority: i32, millis: u64) -> Submit {
    let profile = Profile { priority, crash_limit: CrashLimit::Unlimited, ..Profile::new(request) };
    let target = JobTarget::New(JobSpec::default());
    Submit::array(target, TaskIds::Next(n), SIM_KIND, RunSpec::takes(Span::millis(millis)).blob(), profile)
}

/// A backlog on one worker, and a second worker that it is called back for.
fn backlogs() -> Simulation {
    Simulation::new(1)
        .workers(1, &worker("1"))
        .worker_at(Span::millis(30), worker("3"))
        .submit_at(Span::millis(1), tasks(20, cpus("1"), 0, 5))
        .submit_at(Span::millis(20), tasks(2, cpus("1"), 1, 5))
}

/// A gang that waits for room, for whose sake workers are held.
fn gangs() -> Simulation {
    Simulation::new(2)
        .workers(2, &worker("2"))
        .submit_at(Span::millis(1), tasks(4, cpus("1"), 0, 300))
        .submit_at(Span::millis(2), tasks(2, Request::gang(2), 1, 200))
        .submit_at(Span::millis(3), tasks(3, cpus("0.5"), 0, 400))
}

/// Each waits for the one before, one fails, and what waits for that is aborted.
fn graph() -> Simulation {
    let mut chain = tasks(6, cpus("1.5"), 0, 20);
    let on = |n: u32, kind| vec![(TaskNumber(n), kind)];
    chain.deps = Deps::new([
        vec![],
        on(0, DepKind::Success),
        on(1, DepKind::AnyEnd),
        vec![],
        on(3, DepKind::Failure),
        on(2, DepKind::Success),
    ])
    .unwrap();
    let mut fails = tasks(3, cpus("1"), 0, 0);
    fails.shared = RunSpec { takes: Span::millis(10), fails_percent: 100 }.blob();
    Simulation::new(3).workers(2, &worker("2")).submit_at(Span::millis(1), chain).submit_at(Span::millis(1), fails)
}

/// Tasks that run and tasks that wait are cancelled, in backlogs as well.
fn cancels() -> Simulation {
    Simulation::new(4)
        .workers(2, &worker("1"))
        .submit_at(Span::millis(1), tasks(12, cpus("1"), 0, 6))
        .submit_at(Span::millis(1), tasks(3, cpus("1"), 1, 100))
        .ask_at(Span::millis(130), ClientRequest::CancelJobs { jobs: Selector::All, reason: None })
        .submit_at(Span::millis(131), tasks(2, cpus("1"), 0, 6))
}

/// Groups, strict policies and parts of an index.
fn groups() -> Simulation {
    Simulation::new(5)
        .workers(2, &worker("2x2"))
        .submit_at(Span::millis(1), tasks(3, cpus("2 compact!"), 0, 100))
        .submit_at(Span::millis(1), tasks(3, cpus("0.3333"), 1, 150))
        .submit_at(Span::millis(2), tasks(2, cpus("all"), 2, 50))
}

fn all() -> BTreeMap<&'static str, fn() -> Simulation> {
    BTreeMap::from([
        ("backlogs", backlogs as fn() -> Simulation),
        ("cancels", cancels),
        ("gangs", gangs),
        ("graph", graph),
        ("groups", groups),
    ])
}

#[expect(clippy::disallowed_methods, reason = "how the deep run asks for all")]
fn every() -> usize {
    std::env::var("HQ_SIM_EVERY").ok().and_then(|n| n.parse().ok()).unwrap_or(3)
}

/// How many runs there were, and in how many of them the trace tells of the mishap.
fn between_any_two_steps(simulation: impl Fn() -> Simulation, mishap: Mishap, every: usize, told: &str) -> (u64, u64) {
    let healed =
        || simulation().heal_after(Span::millis(1_500), vec![healer("2x2"), healer("2x2")]).limit(Span::secs(600));
    let quiet = healed().run().report.unwrap();
    let (mut tried, mut met) = (0, 0);
    for step in (1..=quiet.events).step_by(every) {
        tried += 1;
        let outcome = healed().mishap_after(step, mishap).keep_trace(1 << 20).run();
        let report = outcome.report.unwrap_or_else(|broken| panic!("{mishap:?} after step {step}: {broken}"));
        let (counts, whole) = (report.counts, quiet.counts.total());
        assert_eq!(counts.waiting + counts.running, 0, "{mishap:?} after step {step}: {counts:?}");
        // What a killed server had not made safe was never promised.
        assert!(counts.total() == whole || (mishap == Mishap::Restart && counts.total() < whole), "{counts:?}");
        met += u64::from(outcome.trace.lines().any(|line| line.contains(told)));
    }
    (tried, met)
}

#[test]
fn a_worker_that_crashes() {
    for (name, simulation) in all() {
        for n in 0..2 {
            let (steps, met) = between_any_two_steps(simulation, Mishap::Crash(n), 1, "crashes");
            assert!(met > steps * 3 / 4, "{name}: it goes wrong in {met} of {steps}");
        }
    }
}

#[test]
fn a_worker_that_falls_silent() {
    for (name, simulation) in all() {
        for n in 0..2 {
            let (steps, met) = between_any_two_steps(simulation, Mishap::Silence(n), every(), "is dark");
            assert!(met > steps * 3 / 4, "{name}: it goes wrong in {met} of {steps}");
        }
    }
}

#[test]
fn a_server_that_is_killed() {
    for (name, simulation) in all() {
        let (steps, met) = between_any_two_steps(simulation, Mishap::Restart, every(), "the server is killed");
        assert!(met > steps * 3 / 4, "{name}: it goes wrong in {met} of {steps}");
    }
}

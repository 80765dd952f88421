//! The simulator itself: figures of small clusters that can be worked out by hand, and what it says of those that go wrong.

use hq_core::{
    ClientRequest, CrashLimit, JobSpec, JobTarget, Profile, Request, Selector, Span, Submit, TaskIds, WorkerConfig,
    WorkerResources,
};
use hq_sim::{Faults, RunSpec, SIM_KIND, Simulation};

fn worker(cpus: u32) -> WorkerConfig {
    WorkerConfig::new("node", WorkerResources::cpus(cpus).unwrap())
}

fn tasks(n: u32, cpus: u32, takes: Span) -> Submit {
    let profile = Profile { crash_limit: CrashLimit::Unlimited, ..Profile::new(Request::cpus(cpus).unwrap()) };
    let target = JobTarget::New(JobSpec::default());
    Submit::array(target, TaskIds::Next(n), SIM_KIND, RunSpec::takes(takes).blob(), profile)
}

#[test]
fn makespans_are_what_they_must_be() {
    for (workers, cpus, n, each, rounds) in [(1, 1, 10, 1, 10), (2, 4, 80, 1, 10), (3, 4, 6, 4, 2), (2, 3, 9, 2, 5)] {
        let simulation =
            Simulation::new(1).workers(workers, &worker(cpus)).submit_at(Span::ZERO, tasks(n, each, Span::secs(10)));
        let report = simulation.run().report.unwrap();
        assert_eq!(report.counts.finished, u64::from(n));
        let (least, most) = (Span::secs(10 * rounds), Span::millis(10_000 * rounds + 100));
        assert!(report.makespan >= least && report.makespan <= most, "{workers}x{cpus}: {}", report.makespan);
        assert_eq!(report.busy, Span::secs(10 * u64::from(n * each)));
    }
}

#[test]
fn what_cannot_run_waits_and_is_told() {
    let simulation = || Simulation::new(1).workers(1, &worker(1)).limit(Span::secs(100));
    let waits = simulation().submit_at(Span::ZERO, tasks(3, 2, Span::secs(1))).run().report.unwrap();
    assert_eq!((waits.counts.waiting, waits.started), (3, 0));
    let healed = simulation().submit_at(Span::ZERO, tasks(3, 2, Span::secs(1))).heal_after(Span::secs(1), vec![]);
    let broken = healed.run().report.unwrap_err();
    assert!(broken.to_string().starts_with("seed 1, at ") && broken.what.starts_with("liveness: 3 tasks"), "{broken}");
}

#[test]
fn losses_cost_time_and_no_task() {
    let quiet = Simulation::new(3).workers(4, &worker(2)).submit_at(Span::ZERO, tasks(100, 1, Span::secs(2)));
    let often = Span::secs(5);
    let faults = Faults { crash: often, freeze: often, partition: often, restart: Span::secs(9), ..Faults::NONE };
    let rough = quiet.clone().faults(faults).heal_after(Span::secs(40), vec![worker(2)]).limit(Span::secs(1000));
    let (quiet, rough) = (quiet.run().report.unwrap(), rough.run().report.unwrap());
    assert_eq!((quiet.counts.finished, rough.counts.finished), (100, 100));
    assert!(rough.makespan > quiet.makespan && rough.restarts > 0, "{rough:?}");
}

#[test]
fn a_cancel_ends_what_waits_and_what_runs() {
    let simulation = Simulation::new(1)
        .journal(true)
        .workers(1, &worker(2))
        .submit_at(Span::secs(1), tasks(10, 1, Span::secs(10)))
        .ask_at(Span::secs(15), ClientRequest::CancelJobs { jobs: Selector::All, reason: None });
    let report = simulation.run().report.unwrap();
    assert_eq!((report.counts.finished, report.counts.canceled), (2, 8));
    assert!(report.makespan < Span::secs(15), "{}", report.makespan);
}

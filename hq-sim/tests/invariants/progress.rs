//! What must hold while the world answers and time goes on.

use std::sync::Arc;

use hq_core::{
    Fact, IdList, JobId, JobSpec, JobTarget, Ordinal, OrdinalRange, Profile, Record, Request, Span, Submit, TaskIds,
    Tick, WorkerConfig, WorkerId, WorkerResources,
};
use hq_sim::invariants::{Backlogs, HonestDemand, Infeasible, NoInversion, WorkConservation};

use crate::bench::{Bench, cpu, grant, one_cpu, opened};

#[test]
fn i16_room_that_nobody_gets() {
    let mut bench = Bench::new(WorkConservation::default(), Request::cpus(3).unwrap());
    bench.settled().expect("nobody has room for three");
    let mut bench = Bench::new(WorkConservation::default(), one_cpu());
    assert!(bench.settled().unwrap_err().contains("worker 1 has room"));
    let mut bench = Bench::new(WorkConservation::default(), Request::gang(2));
    assert!(bench.settled().unwrap_err().contains("workers [WorkerId(1), WorkerId(2)] are idle"));
}

#[test]
fn i16_it_is_told_for_whose_sake() {
    // For the books tasks of four cpus go first on worker 3; the core has them at the same priority as the others.
    let mut bench = Bench::new(WorkConservation::default(), one_cpu());
    let submit = |priority| {
        let target = JobTarget::New(JobSpec::default());
        let profile = |cpus, priority| Profile { priority, ..Profile::new(Request::cpus(cpus).unwrap()) };
        let ids = TaskIds::Given(IdList::range(0, 2));
        let mut submit = Submit::array(target, ids, "program", vec![].into(), profile(4, priority));
        submit.profiles.push(profile(3, 0));
        submit.profile_of = vec![0, 1];
        Fact::Submitted { job: JobId(2), base: Ordinal(4), submit: Arc::new(submit) }
    };
    let record = |fact| Record { at: Tick(10), fact };
    for (n, worker, cpu_n, task) in [(1, 1, 0, 0), (2, 1, 1, 2), (3, 2, 0, 3)] {
        bench.good(opened(n, &[worker], cpu(cpu_n), task));
    }
    bench.core.replay(&record(submit(-1))).unwrap();
    bench.model.apply(&record(submit(1)));
    let mut config = WorkerConfig::new("w", WorkerResources::cpus(4).unwrap());
    config.group = "third".to_owned();
    let joined = record(Fact::WorkerJoined { worker: WorkerId(3), config: Arc::new(config) });
    bench.core.replay(&joined).unwrap();
    bench.model.apply(&joined);
    assert!(bench.settled().unwrap_err().contains("task 5 is kept off worker 3, and it is not told for whom"));
}

#[test]
fn i21_infeasible_and_not_told() {
    let mut bench = Bench::new(Infeasible::default(), Request::cpus(3).unwrap());
    bench.settled().expect("nobody has three, and the core says so");
    // The books know of a worker that the core does not.
    let config = WorkerConfig::new("w", WorkerResources::cpus(4).unwrap());
    let fact = Fact::WorkerJoined { worker: WorkerId(3), config: Arc::new(config) };
    bench.model.apply(&Record { at: Tick(10), fact });
    assert!(bench.settled().unwrap_err().contains("could run: true; told: Infeasible"));
    let mut bench = Bench::new(Infeasible::default(), Request::gang(3));
    bench.settled().expect("two are no three");
    let config = WorkerConfig::new("w", WorkerResources::cpus(1).unwrap());
    let fact = Fact::WorkerJoined { worker: WorkerId(3), config: Arc::new(config) };
    bench.model.apply(&Record { at: Tick(10), fact });
    assert!(bench.settled().unwrap_err().contains("could run: true; told: Infeasible"));
}

#[test]
fn i18_a_place_for_the_wrong_one() {
    let high = Profile { priority: 1, ..Profile::new(Request::cpus(2).unwrap()) };
    let mut bench = Bench::of(NoInversion, vec![high, Profile::new(one_cpu())], &[0, 0, 0, 1]);
    assert!(bench.bad(opened(1, &[1], cpu(0), 3)).contains("task 3 gets a place on worker 1 that task 0 waits for"));
    bench.good(opened(1, &[1], cpu(0), 0));
    bench.good(opened(2, &[1], cpu(1), 3));
    let policy = |order: &str| Fact::PolicyChanged { order: order.into(), placement: "pack".into() };
    // By submit order alone nobody comes before task 2, whatever its priority.
    bench.good(policy("fcfs"));
    assert!(bench.bad(opened(3, &[2], cpu(0), 3)).contains("task 2 waits for"));
    bench.good(opened(3, &[2], cpu(0), 2));
}

#[test]
fn i19_a_lane_keeps_what_others_could_start() {
    let extended = |task| Fact::GrantExtended { grant: grant(1), tasks: vec![OrdinalRange::one(Ordinal(task))] };
    let mut bench = Bench::new(Backlogs::default(), one_cpu());
    bench.good(opened(1, &[1], cpu(0), 0));
    bench.good(extended(2));
    bench.settled().expect("task 3 goes first");
    bench.good(extended(3));
    assert!(bench.settled().unwrap_err().contains("lane 1.1 keeps task 2, which worker"));
    let mut bench = Bench::new(Backlogs::default(), one_cpu().with_min_time(Span::secs(6)));
    bench.good(opened(1, &[2], cpu(0), 0));
    bench.good(extended(2));
    assert!(bench.settled().unwrap_err().contains("may not start it any more"), "it lives for five seconds");
}

#[test]
fn i22_more_workers_than_tasks() {
    let mut bench = Bench::new(HonestDemand::default(), one_cpu());
    bench.settled().unwrap();
    // The books have no task left that waits, and the core asks for workers.
    for (n, task) in [(1, 0), (2, 2), (3, 3)] {
        bench.model.apply(&Record { at: Tick(10), fact: opened(n, &[1], cpu(0), task) });
        let started = Fact::TaskStarted { grant: grant(n), task: Ordinal(task), start: Tick(10) };
        bench.model.apply(&Record { at: Tick(10), fact: started });
    }
    assert!(bench.settled().unwrap_err().contains("are asked for"));
}

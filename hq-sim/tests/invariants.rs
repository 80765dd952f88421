//! Each invariant fails on a step that breaks it, and on none before.

use std::sync::Arc;

use hq_core::{
    Allocation, Amount, ClassId, DepKind, Deps, End, Ends, Epoch, Fact, FromWorker, GrantId, GrantedResource, JobId,
    JobSpec, JobTarget, LossReason, Open, Ordinal, OrdinalRange, Piece, Profile, Record, Request, ResourceDef,
    ResourceEntry, ResourceName, Span, Submit, TaskIds, TaskNumber, Tick, ToWorker, WorkerConfig, WorkerId,
    WorkerResources,
};
use hq_scheduler::Scheduler;
use hq_sim::{
    Model, Trace,
    invariants::{
        CanceledStay, Conservation, Dependencies, FitsIsAllocate, Freshness, Gangs, GoneWorkers, Idempotence,
        Invariant, LegalTransitions, NoOversubscription, OnePlace, Replay, StaleMessages, Step, TimeLeft, What,
        same_traces,
    },
};

/// One invariant, the books, and a core that has replayed every fact.
struct Bench<I> {
    invariant: I,
    model: Model,
    core: Scheduler,
}

impl<I: Invariant> Bench<I> {
    /// Two tasks of that request, the second waiting for the first, and two workers.
    fn new(invariant: I, request: Request) -> Self {
        let mut bench = Self { invariant, model: Model::default(), core: Scheduler::new() };
        bench.good(Fact::Boot { epoch: Epoch(1), server_uid: "u".into(), wall: 0, version: "0".into() });
        let mut submit = Submit::array(
            JobTarget::New(JobSpec::default()),
            TaskIds::Given(hq_core::IdList::range(0, 3)),
            "program",
            vec![].into(),
            Profile::new(request),
        );
        submit.deps = Deps::new([vec![], vec![(TaskNumber(0), DepKind::Success)], vec![]]).unwrap();
        bench.good(Fact::Submitted { job: JobId(1), base: Ordinal(0), submit: Arc::new(submit) });
        bench.join(1, |_| {});
        bench.join(2, |config| config.time_limit = Some(Span::secs(5)));
        bench
    }

    fn join(&mut self, worker: u32, change: fn(&mut WorkerConfig)) {
        let mut config = WorkerConfig::new("w", WorkerResources::cpus(2).unwrap());
        change(&mut config);
        self.good(Fact::WorkerJoined { worker: WorkerId(worker), config: Arc::new(config) });
    }

    fn see(&mut self, what: What<'_>) -> Result<(), String> {
        self.invariant.observe(&Step { at: Tick(10), what, model: &self.model })
    }

    fn good(&mut self, fact: Fact) {
        let record = Record { at: Tick(10), fact };
        self.see(What::Fact(&record)).unwrap();
        self.core.replay(&record).unwrap();
        self.model.apply(&record);
        let core = std::mem::take(&mut self.core);
        self.see(What::Settled(&core)).unwrap();
        self.core = core;
    }

    fn bad(&mut self, fact: Fact) -> String {
        let record = Record { at: Tick(10), fact };
        self.see(What::Fact(&record)).unwrap_err()
    }

    /// The books know of a fact that the core does not.
    fn bad_for_the_core(&mut self, fact: Fact) -> String {
        let record = Record { at: Tick(10), fact };
        self.see(What::Fact(&record)).unwrap();
        self.model.apply(&record);
        let core = std::mem::take(&mut self.core);
        self.see(What::Settled(&core)).unwrap_err()
    }
}

fn one_cpu() -> Request {
    Request::cpus(1).unwrap()
}

fn grant(n: u32) -> GrantId {
    GrantId { epoch: Epoch(1), n }
}

fn cpu(index: u32) -> Allocation {
    let pieces = vec![Piece { index, amount: Amount::ONE }];
    Allocation(vec![GrantedResource { resource: ResourceName::cpus(), amount: Amount::ONE, pieces }])
}

fn opened(n: u32, workers: &[u32], allocation: Allocation, task: u64) -> Fact {
    Fact::GrantOpened {
        grant: grant(n),
        workers: workers.iter().copied().map(WorkerId).collect(),
        class: ClassId(0),
        variant: 0,
        allocation,
        tasks: vec![OrdinalRange::one(Ordinal(task))],
    }
}

fn finished(n: u32, task: u64) -> Fact {
    Fact::TasksFinished {
        grant: grant(n),
        ends: Ends::new([End { task: Ordinal(task), start: Tick(1), end: Tick(2) }]),
    }
}

fn canceled(task: u64) -> Fact {
    Fact::TasksCanceled { tasks: vec![OrdinalRange::one(Ordinal(task))] }
}

fn lost(worker: u32) -> Fact {
    Fact::WorkerLost { worker: WorkerId(worker), reason: LossReason::ConnectionLost }
}

#[test]
fn i01_an_index_twice() {
    let mut bench = Bench::new(NoOversubscription::default(), one_cpu());
    bench.good(opened(1, &[1], cpu(0), 0));
    assert!(bench.bad(opened(2, &[1], cpu(0), 2)).contains("index 0 of cpus"));
    assert!(bench.bad(opened(2, &[1], cpu(2), 2)).contains("index 2 of cpus"));
    bench.good(opened(2, &[1], cpu(1), 2));
}

#[test]
fn i02_an_index_lost() {
    let mut bench = Bench::new(Conservation::default(), one_cpu());
    bench.good(opened(1, &[1], cpu(0), 0));
    assert!(bench.bad_for_the_core(opened(2, &[1], cpu(1), 2)).contains("cpus of worker 1"));
    let mut bench = Bench::new(Conservation::default(), one_cpu());
    bench.good(opened(1, &[1], cpu(0), 0));
    let core = std::mem::take(&mut bench.core);
    assert!(bench.see(What::Over(&core)).unwrap_err().contains("open though all"));
}

#[test]
fn i03_a_task_in_two_places() {
    let mut bench = Bench::new(OnePlace::default(), one_cpu());
    bench.good(opened(1, &[1], cpu(0), 0));
    assert!(bench.bad(opened(2, &[2], cpu(0), 0)).contains("while grant 1.1 has it"));
    assert!(bench.bad(opened(1, &[2], cpu(0), 2)).contains("opened twice"));
    assert!(bench.bad(opened(2, &[2, 2], Allocation::default(), 2)).contains("given to workers"));
    let started = Fact::TaskStarted { grant: grant(1), task: Ordinal(0), start: Tick(10) };
    assert!(bench.bad_for_the_core(started).contains("runs on"));
}

#[test]
fn i04_a_second_end() {
    let mut bench = Bench::new(LegalTransitions::default(), one_cpu());
    bench.good(opened(1, &[1], cpu(0), 0));
    assert!(bench.bad(finished(2, 0)).contains("held by"));
    bench.good(finished(1, 0));
    assert!(bench.bad(canceled(0)).contains("while it is Finished"));
    assert!(bench.bad(opened(2, &[1], cpu(0), 0)).contains("is granted while it is Finished"));
    assert!(bench.bad(Fact::JobForgotten { job: JobId(1) }).contains("is forgotten with"));
    assert!(bench.bad_for_the_core(canceled(2)).contains("the core counts"));
}

#[test]
fn i05_a_fact_from_the_past() {
    let mut bench = Bench::new(StaleMessages::default(), one_cpu());
    bench.good(opened(1, &[1], cpu(0), 0));
    bench.see(What::Hears(&FromWorker::Heartbeat, Freshness::Old)).unwrap();
    assert!(bench.bad(finished(1, 0)).contains("from the past"));
    bench.see(What::Hears(&FromWorker::Heartbeat, Freshness::New)).unwrap();
    let old = GrantId { epoch: Epoch(0), n: 1 };
    assert!(bench.bad(Fact::GrantClosed { grant: old }).contains("in boot 1"));
    bench.good(finished(1, 0));
}

#[test]
fn i06_room_that_is_none() {
    let gpu = Request::new(vec![ResourceEntry::parse("gpus=1").unwrap()]).unwrap();
    let mut bench = Bench::new(FitsIsAllocate::default(), gpu);
    // The core's worker 3 has a gpu that the books' worker 3 has not.
    let mut config = WorkerConfig::new("w", WorkerResources::cpus(1).unwrap());
    let record = |config: &WorkerConfig| Record {
        at: Tick(10),
        fact: Fact::WorkerJoined { worker: WorkerId(3), config: Arc::new(config.clone()) },
    };
    bench.model.apply(&record(&config));
    let defs = vec![ResourceDef::parse_cpus("1").unwrap(), ResourceDef::parse("gpus=[0]").unwrap()];
    config.resources = WorkerResources::new(defs, vec![]).unwrap();
    bench.core.replay(&record(&config)).unwrap();
    let core = std::mem::take(&mut bench.core);
    let seen: Result<(), String> = (0..20).try_for_each(|_| bench.see(What::Settled(&core)));
    assert!(seen.unwrap_err().contains("no room and something is allocated"));
}

#[test]
fn i07_too_early_and_never() {
    let mut bench = Bench::new(Dependencies::default(), one_cpu());
    assert!(bench.bad(opened(1, &[1], cpu(0), 1)).contains("before all it waits for"));
    let aborted = Fact::TasksAborted { tasks: vec![OrdinalRange::one(Ordinal(2))] };
    assert!(bench.bad(aborted).contains("could still run"));
    let record = Record { at: Tick(10), fact: canceled(0) };
    bench.see(What::Fact(&record)).unwrap();
    bench.model.apply(&record);
    let core = std::mem::take(&mut bench.core);
    assert!(bench.see(What::Settled(&core)).unwrap_err().contains("task 1 can never run"));
}

#[test]
fn i08_too_little_time() {
    let mut bench = Bench::new(TimeLeft::new(Span::ZERO), one_cpu().with_min_time(Span::secs(6)));
    assert!(bench.bad(opened(1, &[2], cpu(0), 0)).contains("task 0 needs 6s"));
    bench.good(opened(1, &[1], cpu(0), 0));
}

#[test]
fn i09_half_a_gang() {
    let mut bench = Bench::new(Gangs::default(), Request::gang(2));
    bench.join(3, |config| config.group = "other".into());
    let all = Allocation::default;
    assert!(bench.bad(opened(1, &[1], all(), 0)).contains("of 2 nodes"));
    assert!(bench.bad(opened(1, &[1, 3], all(), 0)).contains("spread over groups"));
    bench.good(opened(1, &[1, 2], all(), 0));
    assert!(bench.bad(opened(2, &[2, 1], all(), 2)).contains("with a gang"));
    assert!(bench.bad_for_the_core(lost(1)).contains("has lost its main worker"));
}

#[test]
fn i14_another_state() {
    let mut bench = Bench::new(Replay::default(), one_cpu());
    assert!(
        bench
            .bad_for_the_core(Fact::JobCanceled { job: JobId(1), reason: Some("why".into()) })
            .contains("another state")
    );
    assert!(bench.bad(lost(9)).contains("cannot be replayed"));
}

#[test]
fn i15_work_for_the_gone() {
    let mut bench = Bench::new(GoneWorkers::new(Span::ZERO), one_cpu());
    bench.good(opened(1, &[1], cpu(0), 0));
    assert!(bench.bad(lost(9)).contains("was not there"));
    bench.good(lost(2));
    assert!(bench.bad(opened(2, &[2], cpu(0), 2)).contains("which is gone"));
    let open = Open {
        grant: grant(1),
        request: Arc::new(one_cpu()),
        variant: 0,
        variants: 1,
        allocation: cpu(0),
        hosts: vec![],
        work: vec![],
        not_after: None,
    };
    let message = ToWorker::Open(Box::new(open));
    bench.see(What::Told(WorkerId(1), &message)).unwrap();
    assert!(bench.see(What::Told(WorkerId(2), &message)).unwrap_err().contains("told to work"));
    assert!(bench.bad_for_the_core(lost(1)).contains("has a runtime"));
}

#[test]
fn i24_two_traces() {
    let trace = |lines: &[&str]| {
        let mut trace = Trace::new(1);
        lines.iter().for_each(|line| trace.push(format_args!("{line}")));
        trace
    };
    same_traces(&trace(&["a", "b"]), &trace(&["a", "b"])).unwrap();
    for (other, part) in
        [(&["a", "c"][..], "is `b` and `c`"), (&["x", "b"], "of different content"), (&["b"], "different content")]
    {
        assert!(same_traces(&trace(&["a", "b"]), &trace(other)).unwrap_err().contains(part), "{other:?}");
    }
}

#[test]
fn i29_a_cancelled_task_comes_back() {
    let mut bench = Bench::new(CanceledStay::default(), one_cpu());
    bench.good(canceled(2));
    assert!(bench.bad(opened(1, &[1], cpu(0), 2)).contains("task 2 is granted after it was cancelled"));
    bench.good(opened(1, &[1], cpu(0), 0));
}

#[test]
fn i30_a_message_counts_twice() {
    let mut bench = Bench::new(Idempotence::default(), one_cpu());
    bench.good(opened(1, &[1], cpu(0), 0));
    bench.see(What::Hears(&FromWorker::Heartbeat, Freshness::Doubled)).unwrap();
    assert!(bench.bad(finished(1, 0)).contains("heard before"));
    bench.see(What::Hears(&FromWorker::Heartbeat, Freshness::New)).unwrap();
    bench.good(finished(1, 0));
}

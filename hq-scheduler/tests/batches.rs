//! Lanes that are opened together, and tasks that are killed together, leave together, and say the same as one by one.

mod common;

use common::{booted, node};
use hq_core::{
    Fact, JobSpec, JobTarget, LaneReport, LossReason, Outcome, Profile, Record, Request, RunEnd, Span, Submit, TaskIds,
    Tick, ToWorker, WorkerConfig, WorkerId, WorkerResources,
};
use hq_scheduler::{Action, News, Scheduler};

/// The same, lane by lane.
fn singly(action: Action) -> Vec<Action> {
    match action {
        Action::Record(fact) => fact.singly().map(Action::Record).collect(),
        Action::Send { worker, message } => message.singly().map(|message| Action::Send { worker, message }).collect(),
        other => vec![other],
    }
}

/// A cluster of workers of two sizes, one of which ends; classes with variants; tasks that come again after a loss and as parts.
/// Returns what left in each step.
fn live(core: &mut Scheduler, poll: fn(&mut Scheduler, Tick) -> Option<Action>) -> Vec<(Tick, Vec<Action>)> {
    let mut steps = Vec::new();
    let mut step = |core: &mut Scheduler, now: u64| {
        let actions: Vec<Action> = std::iter::from_fn(|| poll(core, Tick(now))).collect();
        steps.push((Tick(now), actions.clone()));
        actions
    };
    for cpus in [8, 8, 3, 8] {
        let mut config = node(cpus);
        config.time_limit = (cpus == 3).then_some(Span::secs(100));
        core.join(Tick(0), config).unwrap();
    }
    step(core, 0);
    let array = |tasks, priority, requests: &[u32]| {
        let variants: Vec<Request> = requests.iter().map(|cpus| Request::cpus(*cpus).unwrap()).collect();
        let profile = Profile { priority, ..Profile::new(hq_core::Variants::new(variants).unwrap()) };
        Submit::array(JobTarget::New(JobSpec::default()), TaskIds::Next(tasks), "program", vec![1].into(), profile)
    };
    let mut jobs = Vec::new();
    for submit in [array(9, 1, &[1]), array(6, 1, &[1]), array(5, 0, &[2, 1]), array(40, 0, &[1])] {
        jobs.push(core.submit(Tick(1), submit).unwrap());
    }
    let opened = step(core, 1);
    let mut lanes = Vec::new();
    for action in opened.into_iter().flat_map(singly) {
        if let Action::Send { worker, message: ToWorker::Open(open) } = action {
            lanes.push((worker, open.grant, open.work[0].runs[0].first));
        }
    }
    assert!(lanes.len() >= 20, "{lanes:?}");
    for (worker, grant, task) in lanes.iter().copied() {
        let lane = LaneReport { grant, ended: vec![], started: Some((task, Span(0))) };
        core.handle_event(Tick(2), News::Report { worker, lane });
    }
    core.handle_event(Tick(3), News::WorkerLost { worker: WorkerId(1), reason: LossReason::ConnectionLost });
    step(core, 3);
    for (worker, grant, task) in lanes.into_iter().filter(|(worker, ..)| *worker == WorkerId(2)) {
        let end = RunEnd { task, age: Span(0), took: Span::millis(1), outcome: Outcome::Finished };
        core.handle_event(
            Tick(4),
            News::Report { worker, lane: LaneReport { grant, ended: vec![end], started: None } },
        );
    }
    step(core, 4);
    core.join(Tick(5), WorkerConfig::new("late", WorkerResources::cpus(8).unwrap())).unwrap();
    step(core, 5);
    jobs.into_iter().for_each(|job| _ = core.cancel(Tick(6), job, None));
    step(core, 6);
    steps
}

fn records(steps: &[(Tick, Vec<Action>)]) -> Vec<Record> {
    let of_step = |(at, actions): &(Tick, Vec<Action>)| {
        let at = *at;
        let fact = move |action| if let Action::Record(fact) = action { Some(Record { at, fact }) } else { None };
        actions.clone().into_iter().filter_map(fact)
    };
    steps.iter().flat_map(of_step).collect()
}

#[test]
fn together_and_one_by_one_are_the_same() {
    let (mut batched, mut single) = (booted(), booted());
    let together = live(&mut batched, Scheduler::poll_batch);
    let one_by_one = live(&mut single, Scheduler::poll_action);
    let expanded: Vec<(Tick, Vec<Action>)> =
        together.iter().map(|(at, actions)| (*at, actions.iter().cloned().flat_map(singly).collect())).collect();
    assert_eq!(expanded, one_by_one);
    let of_opens = |action: &&Action| {
        matches!(action, Action::Record(Fact::GrantsOpened(_)) | Action::Send { message: ToWorker::OpenLanes(_), .. })
    };
    let of_kills = |action: &&Action| matches!(action, Action::Send { message: ToWorker::KillAll { .. }, .. });
    let all = |steps: &[(Tick, Vec<Action>)]| {
        let actions = || steps.iter().flat_map(|(_, actions)| actions);
        (actions().filter(of_opens).count(), actions().filter(of_kills).count())
    };
    let (opens, kills) = all(&together);
    assert!(opens >= 4 && kills >= 2, "{opens} {kills}");
    assert_eq!(all(&one_by_one), (0, 0));
}

/// Whether a journal has facts of either form, it tells of the same.
#[test]
fn both_forms_replay_to_the_same() {
    let mut core = booted();
    let together = records(&live(&mut core, Scheduler::poll_batch));
    let replayed = |records: &[Record]| {
        let mut core = Scheduler::new();
        records.iter().for_each(|record| core.replay(record).unwrap());
        format!("{core:?}")
    };
    let one_by_one: Vec<Record> = together.iter().flat_map(Record::singly).collect();
    assert!(one_by_one.len() > together.len() + 20);
    assert_eq!(replayed(&together), replayed(&one_by_one));
}

#[test]
fn damaged_or_impossible_batches_are_refused() {
    let mut core = booted();
    let records = records(&live(&mut core, Scheduler::poll_batch));
    let at = records.iter().position(|record| matches!(record.fact, Fact::GrantsOpened(_))).unwrap();
    let changed = |change: &dyn Fn(&mut hq_core::OpenedLanes)| {
        let mut record = records[at].clone();
        if let Fact::GrantsOpened(lanes) = &mut record.fact {
            change(lanes);
        }
        let mut core = Scheduler::new();
        records[..at].iter().for_each(|record| core.replay(record).unwrap());
        core.replay(&record)
    };
    assert_eq!(changed(&|_| {}), Ok(()));
    assert!(changed(&|lanes| _ = lanes.workers.pop()).is_err());
    assert!(changed(&|lanes| lanes.workers[0].0 = 99).is_err());
    assert!(changed(&|lanes| lanes.workers.fill(WorkerId(3))).is_err(), "more than the worker has");
    assert!(changed(&|lanes| lanes.tasks[0].start.0 += 1_000).is_err());
}

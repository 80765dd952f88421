//! What can never run any more ends with what dooms it, in one fact.

mod common;

use common::{booted, drain, node};
use hq_core::{
    DepKind, Deps, Fact, JobSpec, JobTarget, LaneReport, Ordinal, OrdinalRange, Outcome, Profile, Request, RunEnd,
    Span, Submit, TaskIds, TaskNumber, Tick, ToWorker,
};
use hq_scheduler::{Action, News, Scheduler};

/// Tasks that wait for the tasks of these numbers.
fn waiting(target: JobTarget, rows: Vec<Vec<(TaskNumber, DepKind)>>) -> Submit {
    let profile = Profile::new(Request::cpus(1).unwrap());
    let mut submit = Submit::array(target, TaskIds::Next(rows.len() as u32), "program", vec![].into(), profile);
    submit.deps = Deps::new(rows).unwrap();
    submit
}

/// Fails the task that runs first; what is aborted then, fact by fact.
fn aborted_by_a_failure(core: &mut Scheduler) -> Vec<Vec<OrdinalRange>> {
    let now = Tick(10);
    core.join(now, node(1)).unwrap();
    let opened = drain(core, now).into_iter().find_map(|action| match action {
        Action::Send { worker, message: ToWorker::Open(open) } => Some((worker, open.grant)),
        _ => None,
    });
    let (worker, grant) = opened.unwrap();
    let outcome = Outcome::Failed("no".to_owned());
    let ended = vec![RunEnd { task: Ordinal(0), age: Span(0), took: Span(1), outcome }];
    core.handle_event(now, News::Report { worker, lane: LaneReport { grant, ended, started: None } });
    let aborted = drain(core, now).into_iter().filter_map(|action| match action {
        Action::Record(Fact::TasksAborted { tasks }) => Some(tasks),
        _ => None,
    });
    aborted.collect()
}

#[test]
fn a_chain_of_any_length() {
    let mut core = booted();
    let n = 10_000;
    let rows = (0..n).map(|i| if i == 0 { vec![] } else { vec![(TaskNumber(i - 1), DepKind::Success)] });
    core.submit(Tick(1), waiting(JobTarget::New(JobSpec::default()), rows.collect())).unwrap();
    assert_eq!(aborted_by_a_failure(&mut core), [[OrdinalRange::new(Ordinal(1), u64::from(n) - 1)]]);
}

#[test]
fn over_submits_and_kinds_of_edges() {
    use DepKind::{AnyEnd, Failure, Success};
    let on = |number, kind| (TaskNumber(number), kind);
    let mut core = booted();
    let job = core.open(Tick(1), JobSpec::default());
    let first = vec![vec![], vec![on(0, Success)], vec![on(1, Failure)], vec![on(1, AnyEnd)], vec![on(0, Failure)]];
    core.submit(Tick(1), waiting(JobTarget::Attach(job), first)).unwrap();
    // Numbers go on at 5.
    let second = vec![vec![on(2, Success)], vec![on(3, Success)], vec![on(5, AnyEnd), on(4, Success), on(2, Failure)]];
    core.submit(Tick(1), waiting(JobTarget::Attach(job), second)).unwrap();
    let (one, two) = (OrdinalRange::new(Ordinal(1), 2), OrdinalRange::one(Ordinal(5)));
    assert_eq!(aborted_by_a_failure(&mut core), [[one, two, OrdinalRange::one(Ordinal(7))]]);
    assert_eq!(core.job(job).unwrap().counts.waiting, 3, "3, 4 and 6 can still run");
}

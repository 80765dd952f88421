//! Submits that wait for whole jobs.

mod common;

use std::collections::BTreeMap;

use common::node;
use hq_core::{
    DepKind, Deps, Fact, GrantId, JobDep, JobId, JobSpec, JobState, JobTarget, LaneReport, Ordinal, Outcome, Profile,
    Record, Refusal, Request, RunEnd, Span, Standing, Submit, TaskIds, TaskNumber, Tick, ToWorker, Work, WorkerId,
};
use hq_scheduler::{Action, News, Scheduler};

const NOW: Tick = Tick(10_000_000);

/// A worker with room for all; what is started runs until it is ended.
struct Bench {
    core: Scheduler,
    facts: Vec<Record>,
    running: BTreeMap<Ordinal, (WorkerId, GrantId)>,
}

impl Bench {
    fn new() -> Self {
        let mut bench = Self { core: Scheduler::new(), facts: vec![], running: BTreeMap::new() };
        bench.core.boot(Tick(0), "uid".into(), 0, "1".into());
        bench.core.join(NOW, node(64)).unwrap();
        bench.drain();
        bench
    }

    fn drain(&mut self) {
        while let Some(action) = self.core.poll_action(NOW) {
            match action {
                Action::Record(fact) => self.facts.push(Record { at: NOW, fact }),
                Action::Send { worker, message: ToWorker::Open(open) } => self.start(worker, open.grant, &open.work),
                Action::Send { worker, message: ToWorker::Extend { grant, work } } => self.start(worker, grant, &work),
                _ => {}
            }
        }
    }

    fn start(&mut self, worker: WorkerId, grant: GrantId, work: &[Work]) {
        let task = work[0].runs[0].first;
        self.running.insert(task, (worker, grant));
        let lane = LaneReport { grant, ended: vec![], started: Some((task, Span(0))) };
        self.core.handle_event(NOW, News::Report { worker, lane });
    }

    fn try_submit(&mut self, target: JobTarget, tasks: u32, after: &[(u32, DepKind)]) -> Result<JobId, Refusal> {
        let profile = Profile::new(Request::cpus(1).unwrap());
        let after = after.iter().map(|(job, kind)| JobDep { job: JobId(*job), kind: *kind }).collect();
        let submit = Submit::array(target, TaskIds::Next(tasks), "program", vec![].into(), profile);
        let job = self.core.submit(NOW, Submit { after, ..submit });
        self.drain();
        job
    }

    /// Makes a job of so many tasks.
    fn submit(&mut self, tasks: u32, after: &[(u32, DepKind)]) -> u32 {
        self.try_submit(JobTarget::New(JobSpec::default()), tasks, after).unwrap().0
    }

    /// Ends the first task that runs of a job.
    fn end(&mut self, job: u32, outcome: Outcome) {
        let mut own = self.running.keys().filter(|task| self.core.locate(**task).unwrap().0 == JobId(job));
        let task = *own.next().expect("it runs");
        let (worker, grant) = self.running.remove(&task).unwrap();
        let ended = vec![RunEnd { task, age: Span(0), took: Span::secs(1), outcome }];
        self.core.handle_event(NOW, News::Report { worker, lane: LaneReport { grant, ended, started: None } });
        self.drain();
    }

    fn finish(&mut self, job: u32) {
        self.end(job, Outcome::Finished);
    }

    fn fail(&mut self, job: u32) {
        self.end(job, Outcome::Failed("no".into()));
    }

    fn running(&self, job: u32) -> usize {
        self.running.keys().filter(|task| self.core.locate(**task).is_some_and(|(own, _)| own == JobId(job))).count()
    }

    fn state(&self, job: u32) -> JobState {
        let view = self.core.job(JobId(job)).unwrap();
        JobState::of(&view.counts, view.is_open)
    }

    /// A replay of all facts comes to the same state, and goes on from there after a restart.
    fn restart(mut self) -> Self {
        let mut core = Scheduler::new();
        for record in &self.facts {
            core.replay(record).unwrap();
        }
        assert!(core.same_state(&self.core));
        core.boot(NOW, "uid".into(), 0, "1".into());
        self.core = core;
        self.running.clear();
        self.core.join(NOW, node(64)).unwrap();
        self.drain();
        self
    }
}

#[test]
fn kinds_and_ends() {
    use DepKind::{AnyEnd, Failure, Success};
    for (kind, failures, runs) in [
        (Success, 0, true),
        (Success, 1, false),
        (Success, 2, false),
        (AnyEnd, 0, true),
        (AnyEnd, 2, true),
        (Failure, 0, false),
        (Failure, 1, true),
        (Failure, 2, true),
    ] {
        for restarts in [false, true] {
            let mut bench = Bench::new();
            assert_eq!((bench.submit(2, &[]), bench.submit(3, &[(1, kind)])), (1, 2));
            assert_eq!((bench.running(1), bench.running(2)), (2, 0));
            if restarts {
                bench = bench.restart();
                assert_eq!((bench.running(1), bench.running(2)), (2, 0));
            }
            for n in 0..2 {
                assert_eq!(bench.state(2), JobState::Waiting);
                if n < failures { bench.fail(1) } else { bench.finish(1) }
            }
            assert_eq!(bench.running(2), if runs { 3 } else { 0 }, "{kind:?} {failures}");
            let state = if runs { JobState::Running } else { JobState::Aborted };
            assert_eq!(bench.state(2), state, "{kind:?} {failures}");
            // Who comes later finds the same.
            bench.submit(1, &[(1, kind)]);
            assert_eq!((bench.running(3) == 1, bench.state(3)), (runs, state));
            let bench = bench.restart();
            assert_eq!(bench.running(2), if runs { 3 } else { 0 });
        }
    }
}

#[test]
fn all_jobs_are_waited_for() {
    let mut bench = Bench::new();
    for _ in 0..3 {
        bench.submit(1, &[]);
    }
    let all = [(1, DepKind::Success), (2, DepKind::AnyEnd), (3, DepKind::Failure), (1, DepKind::Success)];
    bench.submit(1, &all);
    bench.finish(1);
    bench.fail(2);
    assert_eq!(bench.running(4), 0);
    let mut bench = bench.restart();
    let explained = bench.core.explain(NOW, Ordinal(3)).unwrap();
    assert_eq!((explained.standing, explained.jobs.to_string()), (Standing::Dependencies, "3".into()));
    bench.fail(3);
    assert_eq!(bench.running(4), 1);
}

#[test]
fn an_open_job_is_completed_when_it_is_closed() {
    let mut bench = Bench::new();
    let open = bench.core.open(NOW, JobSpec::default());
    bench.submit(1, &[(1, DepKind::Success)]);
    bench.try_submit(JobTarget::Attach(open), 1, &[]).unwrap();
    bench.finish(1);
    assert_eq!(bench.running(2), 0, "more may come");
    bench.core.close(NOW, open);
    bench.drain();
    assert_eq!(bench.running(2), 1);
    // Closed first, then done; and closed without any task.
    let open = bench.core.open(NOW, JobSpec::default());
    bench.try_submit(JobTarget::Attach(open), 1, &[]).unwrap();
    bench.core.close(NOW, open);
    assert_eq!((bench.submit(1, &[(3, DepKind::Success)]), bench.running(4)), (4, 0));
    bench.finish(3);
    assert_eq!(bench.running(4), 1);
    let empty = bench.core.open(NOW, JobSpec::default());
    bench.submit(1, &[(empty.0, DepKind::Success)]);
    bench.core.close(NOW, empty);
    bench.drain();
    assert_eq!(bench.running(6), 1);
}

#[test]
fn cancels_on_either_side() {
    let mut bench = Bench::new();
    bench.submit(1, &[]);
    for kind in [DepKind::Success, DepKind::AnyEnd, DepKind::Failure] {
        bench.submit(2, &[(1, kind)]);
    }
    // Who waits is cancelled, and forgotten: nothing of it comes back.
    bench.submit(1, &[(1, DepKind::AnyEnd)]);
    bench.core.cancel(NOW, JobId(5), None);
    assert_eq!(bench.state(5), JobState::Canceled);
    assert!(bench.core.forget(NOW, JobId(5)));
    bench.core.cancel(NOW, JobId(1), None);
    bench.drain();
    assert_eq!((bench.running(2), bench.running(3), bench.running(4)), (0, 2, 2));
    assert_eq!(bench.state(2), JobState::Aborted);
    assert!(bench.core.forget(NOW, JobId(1)));
    assert_eq!(
        bench.try_submit(JobTarget::New(JobSpec::default()), 1, &[(1, DepKind::AnyEnd)]),
        Err(Refusal::NoJob(JobId(1)))
    );
    bench.drain();
    bench.restart();
}

#[test]
fn a_long_chain_of_jobs_is_aborted_at_once() {
    let mut bench = Bench::new();
    bench.submit(1, &[]);
    for job in 1..2_000 {
        bench.submit(1, &[(job, DepKind::Success)]);
    }
    bench.submit(1, &[(2_000, DepKind::Failure)]);
    bench.fail(1);
    assert_eq!((bench.state(2), bench.state(2_000), bench.running(2_001)), (JobState::Aborted, JobState::Aborted, 1));
}

#[test]
fn tasks_of_a_graph_wait_for_both() {
    let mut bench = Bench::new();
    bench.submit(1, &[]);
    let open = bench.core.open(NOW, JobSpec::default());
    bench.try_submit(JobTarget::Attach(open), 1, &[]).unwrap();
    let on = |n| vec![(TaskNumber(n), DepKind::Success)];
    let profile = Profile::new(Request::cpus(1).unwrap());
    let mut graph = Submit::array(JobTarget::Attach(open), TaskIds::Next(3), "program", vec![].into(), profile);
    graph.deps = Deps::new([vec![], on(1), on(0)]).unwrap();
    graph.after = vec![JobDep { job: JobId(1), kind: DepKind::Success }];
    bench.core.submit(NOW, graph).unwrap();
    bench.drain();
    bench.finish(2);
    assert_eq!(bench.running(2), 0, "the task waited for has ended, the job has not");
    bench.finish(1);
    assert_eq!(bench.running(2), 2);
    bench.finish(2);
    bench.finish(2);
    assert_eq!(bench.running(2), 1);
    bench.restart();
}

#[test]
fn nobody_waits_for_itself() {
    let mut bench = Bench::new();
    let open = bench.core.open(NOW, JobSpec::default());
    bench.try_submit(JobTarget::Attach(open), 1, &[]).unwrap();
    bench.submit(1, &[(1, DepKind::AnyEnd)]);
    bench.submit(1, &[(2, DepKind::AnyEnd)]);
    for (job, text) in [
        (1, "job 1 cannot wait for job 1, which would wait for it"),
        (3, "job 1 cannot wait for job 3, which would wait for it"),
    ] {
        let refused = bench.try_submit(JobTarget::Attach(open), 1, &[(job, DepKind::AnyEnd)]);
        assert_eq!(refused, Err(Refusal::Invalid(text.into())));
    }
    assert_eq!(bench.try_submit(JobTarget::Attach(open), 1, &[(99, DepKind::AnyEnd)]), Err(Refusal::NoJob(JobId(99))));
    let facts = bench.facts.iter().filter(|record| matches!(record.fact, Fact::Submitted { .. })).count();
    assert_eq!(facts, 3, "what is refused changes nothing");
}

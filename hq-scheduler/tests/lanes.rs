//! What lanes guarantee: backlogs, recalls, and what crosses what on a link. Cases step by step are in `testdata/lanes.txt`.

mod common;

use common::{booted, node, ordinals};
use hq_core::{
    CancelOutcome, GrantId, JobId, JobSpec, JobTarget, LaneReport, LossReason, Ordinal, OrdinalRange, Outcome, Profile,
    Request, RunEnd, Span, Submit, TaskIds, TaskState, Tick, ToWorker, WorkerConfig, WorkerId, WorkerResources,
};
use hq_scheduler::{Action, Canceling, News, Scheduler};

/// The core and what it has said.
struct Bench {
    core: Scheduler,
    now: Tick,
    sent: Vec<(WorkerId, ToWorker)>,
    canceled: Vec<CancelOutcome>,
}

impl Bench {
    fn new() -> Self {
        Self { core: booted(), now: Tick(1_000_000), sent: vec![], canceled: vec![] }
    }

    fn submit(&mut self, tasks: u32, priority: i32, request: Request) -> JobId {
        let profile = Profile { priority, ..Profile::new(request) };
        self.submit_profile(tasks, profile, JobSpec::default())
    }

    fn submit_profile(&mut self, tasks: u32, profile: Profile, spec: JobSpec) -> JobId {
        let submit = Submit::array(JobTarget::New(spec), TaskIds::Next(tasks), "program", vec![].into(), profile);
        let job = self.core.submit(self.now, submit).unwrap();
        self.drain();
        job
    }

    fn join(&mut self, cpus: u32) -> WorkerId {
        self.join_config(node(cpus))
    }

    fn join_config(&mut self, config: WorkerConfig) -> WorkerId {
        let worker = self.core.join(self.now, config).unwrap();
        self.drain();
        worker
    }

    fn drain(&mut self) {
        while let Some(action) = self.core.poll_action(self.now) {
            match action {
                Action::Send { worker, message } => self.sent.push((worker, message)),
                Action::Canceled { outcome, .. } => self.canceled.push(outcome),
                _ => {}
            }
        }
    }

    fn news(&mut self, news: News) {
        self.core.handle_event(self.now, news);
        self.drain();
    }

    fn pass(&mut self, span: Span) {
        self.now = self.now.after(span);
        self.core.handle_timeout(self.now);
        self.drain();
    }

    fn started(&mut self, worker: WorkerId, grant: GrantId, task: Ordinal) {
        let lane = LaneReport { grant, ended: vec![], started: Some((task, Span(0))) };
        self.news(News::Report { worker, lane });
    }

    fn ended(&mut self, worker: WorkerId, grant: GrantId, task: Ordinal, took: Span, outcome: Outcome) {
        self.now = self.now.after(took);
        let ended = vec![RunEnd { task, age: Span(0), took, outcome }];
        self.news(News::Report { worker, lane: LaneReport { grant, ended, started: None } });
    }

    /// Lanes opened since the last look, with their tasks.
    fn opened(&mut self) -> Vec<(WorkerId, GrantId, Vec<Ordinal>)> {
        let taken = std::mem::take(&mut self.sent);
        let mut opened = vec![];
        for (worker, message) in taken {
            match message {
                ToWorker::Open(open) => opened.push((worker, open.grant, ordinals(&open.work))),
                other => self.sent.push((worker, other)),
            }
        }
        opened
    }

    fn recalls(&mut self) -> Vec<(WorkerId, GrantId, u32, Vec<OrdinalRange>)> {
        let recall = |(worker, message): &(WorkerId, ToWorker)| match message {
            ToWorker::Recall { grant, n, tasks } => Some((*worker, *grant, *n, tasks.clone())),
            _ => None,
        };
        let recalls = self.sent.iter().filter_map(recall).collect();
        self.sent.retain(|(_, message)| !matches!(message, ToWorker::Recall { .. }));
        recalls
    }

    fn extended(&mut self) -> Vec<Ordinal> {
        let extended = self.sent.iter().filter_map(|(_, message)| match message {
            ToWorker::Extend { work, .. } => Some(ordinals(work)),
            _ => None,
        });
        let extended = extended.flatten().collect();
        self.sent.retain(|(_, message)| !matches!(message, ToWorker::Extend { .. }));
        extended
    }

    fn killed(&self) -> Vec<Ordinal> {
        let kill = |(_, message): &(WorkerId, ToWorker)| match message {
            ToWorker::Kill { task, .. } => Some(*task),
            _ => None,
        };
        self.sent.iter().filter_map(kill).collect()
    }

    /// A worker of `cpus` whose first lane has learnt that tasks take a millisecond, and holds a backlog.
    fn deep(&mut self, cpus: u32, tasks: u32) -> (JobId, WorkerId, GrantId) {
        let job = self.submit(tasks, 0, Request::cpus(1).unwrap());
        let worker = self.join(cpus);
        let (_, grant, first) = self.opened().remove(0);
        self.started(worker, grant, first[0]);
        self.ended(worker, grant, first[0], Span::millis(1), Outcome::Finished);
        assert!(!self.extended().is_empty(), "the lane goes on with a backlog");
        (job, worker, grant)
    }

    fn state(&self, task: u64) -> TaskState {
        self.core.task(Ordinal(task)).unwrap().state
    }
}

#[test]
fn a_first_lane_has_no_backlog_and_long_tasks_never_get_one() {
    let mut bench = Bench::new();
    bench.submit(10, 0, Request::cpus(1).unwrap());
    let worker = bench.join(1);
    let (_, grant, first) = bench.opened().remove(0);
    assert_eq!(first, [Ordinal(0)]);
    bench.started(worker, grant, Ordinal(0));
    bench.ended(worker, grant, Ordinal(0), Span::secs(2), Outcome::Finished);
    assert_eq!(bench.extended(), [Ordinal(1)]);
}

#[test]
fn short_tasks_get_a_backlog_of_milliseconds() {
    let mut bench = Bench::new();
    let (_, worker, grant) = bench.deep(1, 1000);
    bench.ended(worker, grant, Ordinal(1), Span::millis(1), Outcome::Finished);
    let core = &bench.core;
    assert_eq!(core.job(JobId(1)).unwrap().counts.finished, 2);
}

#[test]
fn a_time_request_limits_a_lane_and_calls_its_backlog_back() {
    let mut bench = Bench::new();
    let request = Request::cpus(1).unwrap().with_min_time(Span::secs(78));
    bench.submit(100, 0, request);
    let config = WorkerConfig { time_limit: Some(Span::secs(80)), ..node(1) };
    let worker = bench.join_config(config);
    let (_, grant, first) = bench.opened().remove(0);
    bench.started(worker, grant, first[0]);
    bench.ended(worker, grant, first[0], Span::millis(1), Outcome::Finished);
    let backlog = bench.extended();
    assert!(backlog.len() > 1);
    assert!(bench.core.poll_timeout().is_some());
    bench.pass(Span::secs(3));
    let (_, _, n, called) = bench.recalls().remove(0);
    bench.news(News::Recalled { worker, grant, n, tasks: called });
    assert!(bench.opened().is_empty() && bench.extended().is_empty(), "nothing may start there any more");
    let fresh = bench.join(4);
    let next: Vec<_> = bench.opened().into_iter().map(|(to, _, tasks)| (to, tasks[0])).collect();
    assert_eq!(next.len(), 4);
    assert!(next.iter().all(|(to, task)| *to == fresh && task.0 <= 5), "what came back keeps its place: {next:?}");
}

#[test]
fn a_limit_that_passes_during_a_recall_calls_the_rest_back_after_it() {
    let mut bench = Bench::new();
    let request = Request::cpus(1).unwrap().with_min_time(Span::secs(50));
    bench.submit(40, 0, request);
    let cpus = WorkerResources::cpus(1).unwrap();
    let config = WorkerConfig { time_limit: Some(Span::secs(60)), ..WorkerConfig::new("w", cpus) };
    let worker = bench.join_config(config);
    let (_, grant, first) = bench.opened().remove(0);
    bench.ended(worker, grant, first[0], Span::millis(1), Outcome::Finished);
    assert_eq!(bench.extended().len(), 19);
    // A worker with room is to have a part of it.
    bench.join(64);
    let (_, _, n, called) = bench.recalls().remove(0);
    bench.pass(Span::secs(20));
    assert_eq!(bench.recalls(), [], "one after the other");
    let rest = OrdinalRange::new(Ordinal(1), called[0].start.0 - 1);
    bench.news(News::Recalled { worker, grant, n, tasks: called });
    assert_eq!(bench.recalls()[0].3, [rest], "nothing is left where nothing starts any more");
}

#[test]
fn a_cancel_waits_for_the_backlog_and_counts_what_ended_as_finished() {
    let mut bench = Bench::new();
    let (job, worker, grant) = bench.deep(1, 30);
    bench.started(worker, grant, Ordinal(1));
    assert!(matches!(bench.core.cancel(bench.now, job, None), Canceling::Pending(_)));
    bench.drain();
    assert_eq!(bench.state(1), TaskState::Canceled, "what is known to run is cancelled at once");
    assert_eq!(bench.killed(), [Ordinal(1)]);
    let (_, _, n, called) = bench.recalls().remove(0);
    // A report crosses the recall: task 2 had ended, task 3 had started.
    bench.ended(worker, grant, Ordinal(2), Span::millis(1), Outcome::Finished);
    bench.started(worker, grant, Ordinal(3));
    assert!(bench.canceled.is_empty());
    let back: Vec<OrdinalRange> =
        called.iter().flat_map(|range| range.iter()).filter(|task| task.0 > 3).map(OrdinalRange::one).collect();
    bench.news(News::Recalled { worker, grant, n, tasks: back });
    assert_eq!(bench.canceled, [CancelOutcome::Canceled { canceled: 28, already_ended: 2 }]);
    assert_eq!(
        (bench.state(2), bench.state(3), bench.state(4)),
        (TaskState::Finished, TaskState::Canceled, TaskState::Canceled)
    );
    assert!(bench.killed().contains(&Ordinal(3)));
    // The killed ones leave the lane without another word.
    bench.ended(worker, grant, Ordinal(1), Span::millis(1), Outcome::Killed);
    bench.ended(worker, grant, Ordinal(3), Span::millis(1), Outcome::Killed);
    assert_eq!(bench.core.grant_worker(grant), None, "an empty lane is closed");
    assert!(bench.core.forget(bench.now, job));
}

#[test]
fn a_cancel_without_an_answer_ends_after_two_seconds() {
    let mut bench = Bench::new();
    let (job, worker, grant) = bench.deep(1, 30);
    assert!(matches!(bench.core.cancel(bench.now, job, None), Canceling::Pending(_)));
    bench.drain();
    bench.pass(Span::secs(1));
    assert!(bench.canceled.is_empty());
    bench.pass(Span::secs(1));
    assert_eq!(bench.canceled, [CancelOutcome::Canceled { canceled: 29, already_ended: 1 }]);
    // A late end changes nothing.
    bench.ended(worker, grant, Ordinal(1), Span::millis(1), Outcome::Finished);
    assert_eq!(bench.state(1), TaskState::Canceled);
}

#[test]
fn a_failure_holds_the_lane_until_it_is_told_to_go_on() {
    let mut bench = Bench::new();
    let profile = Profile::new(Request::cpus(1).unwrap());
    let job = bench.submit_profile(50, profile, JobSpec { name: "j".into(), max_fails: Some(1) });
    let worker = bench.join(1);
    let (_, grant, _) = bench.opened().remove(0);
    bench.ended(worker, grant, Ordinal(0), Span::millis(1), Outcome::Finished);
    bench.ended(worker, grant, Ordinal(1), Span::millis(1), Outcome::Failed("no".into()));
    let go_on =
        |bench: &Bench| bench.sent.iter().filter(|(_, message)| matches!(message, ToWorker::GoOn { .. })).count();
    assert_eq!(go_on(&bench), 1);
    bench.ended(worker, grant, Ordinal(2), Span::millis(1), Outcome::Failed("no".into()));
    let recall = bench.sent.iter().rposition(|(_, message)| matches!(message, ToWorker::Recall { .. })).unwrap();
    let last = bench.sent.iter().rposition(|(_, message)| matches!(message, ToWorker::GoOn { .. })).unwrap();
    assert!(recall < last, "the backlog is called back before the lane may go on");
    for (_, _, n, called) in bench.recalls() {
        bench.news(News::Recalled { worker, grant, n, tasks: called });
    }
    let counts = bench.core.job(job).unwrap().counts;
    assert_eq!((counts.finished, counts.failed, counts.aborted), (1, 2, 47));
}

#[test]
fn a_lost_worker_costs_a_crash_only_what_ran() {
    let mut bench = Bench::new();
    let (job, worker, grant) = bench.deep(1, 10);
    bench.started(worker, grant, Ordinal(1));
    bench.news(News::WorkerLost { worker, reason: LossReason::ConnectionLost });
    assert_eq!(bench.core.job(job).unwrap().counts.waiting, 9);
    let instance = |task| bench.core.task(Ordinal(task)).unwrap().instance.0;
    assert_eq!((instance(1), instance(2)), (1, 1));
    let other = bench.join(1);
    let (to, _, tasks) = bench.opened().remove(0);
    assert_eq!((to, tasks[0]), (other, Ordinal(1)), "requeued tasks return to their place");
    // News of the lost worker's lane are stale.
    bench.ended(worker, grant, Ordinal(1), Span::millis(1), Outcome::Finished);
    assert_eq!(bench.core.job(job).unwrap().counts.finished, 1);
}

#[test]
fn tasks_that_may_never_run_twice_get_no_backlog_and_fail_with_their_worker() {
    let mut bench = Bench::new();
    let profile = Profile { crash_limit: hq_core::CrashLimit::NeverRestart, ..Profile::new(Request::cpus(1).unwrap()) };
    let job = bench.submit_profile(5, profile, JobSpec::default());
    let worker = bench.join(1);
    let (_, grant, _) = bench.opened().remove(0);
    bench.ended(worker, grant, Ordinal(0), Span::millis(1), Outcome::Finished);
    assert_eq!(bench.extended(), [Ordinal(1)]);
    bench.started(worker, grant, Ordinal(1));
    bench.news(News::WorkerLost { worker, reason: LossReason::Stopped });
    let counts = bench.core.job(job).unwrap().counts;
    assert_eq!((counts.finished, counts.failed, counts.waiting), (1, 1, 3));
}

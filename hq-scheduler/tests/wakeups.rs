//! When a place that was held for a task is not needed any more, what waits behind takes it, without another event.

mod common;

use common::{array, booted, node};
use hq_core::{
    GrantId, JobId, LaneReport, LossReason, Ordinal, Outcome, Profile, Request, RunEnd, Span, Tick, ToWorker,
    WorkerConfig, WorkerId,
};
use hq_scheduler::{Action, News, Scheduler};

struct Bench {
    core: Scheduler,
    now: Tick,
    /// Lanes opened since the last look.
    opened: Vec<(WorkerId, GrantId, Ordinal)>,
    recalled: Vec<(WorkerId, GrantId, u32)>,
    closed: Vec<WorkerId>,
}

impl Bench {
    fn new() -> Self {
        Self { core: booted(), now: Tick(1_000_000), opened: vec![], recalled: vec![], closed: vec![] }
    }

    fn submit(&mut self, tasks: u32, priority: i32, request: Request) -> JobId {
        let profile = Profile { priority, ..Profile::new(request) };
        let submit = array(tasks, profile);
        let job = self.core.submit(self.now, submit).unwrap();
        self.drain();
        job
    }

    fn join(&mut self, cpus: u32, time_limit: Option<Span>) -> WorkerId {
        let config = WorkerConfig { time_limit, ..node(cpus) };
        let worker = self.core.join(self.now, config).unwrap();
        self.drain();
        worker
    }

    fn drain(&mut self) {
        while let Some(action) = self.core.poll_action(self.now) {
            let Action::Send { worker, message } = action else { continue };
            match message {
                ToWorker::Open(open) => self.opened.push((worker, open.grant, open.work[0].runs[0].first)),
                ToWorker::Recall { grant, n, .. } => self.recalled.push((worker, grant, n)),
                ToWorker::Close { .. } => self.closed.push(worker),
                _ => {}
            }
        }
    }

    fn starts(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.opened).into_iter().map(|(worker, ..)| worker.0).collect()
    }

    fn end(&mut self, worker: WorkerId, grant: GrantId, task: Ordinal) {
        self.now = self.now.after(Span::secs(10));
        let ended = vec![RunEnd { task, age: Span(0), took: Span::secs(10), outcome: Outcome::Finished }];
        let lane = LaneReport { grant, ended, started: None };
        self.core.handle_event(self.now, News::Report { worker, lane });
        self.drain();
    }

    /// Lets time pass as its driver would: only at the moments asked for.
    fn pass(&mut self, span: Span) {
        let until = self.now.after(span);
        while let Some(at) = self.core.poll_timeout().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.core.handle_timeout(self.now);
            self.drain();
        }
        self.now = until;
    }
}

fn cpus(n: u32) -> Request {
    Request::cpus(n).unwrap()
}

/// One worker idle and one busy; both are held for a gang, and a task of low priority waits.
fn held_for_a_gang(request: Request) -> (Bench, JobId, WorkerId) {
    let mut bench = Bench::new();
    let limit = Some(Span::secs(1000));
    let busy = bench.join(1, limit);
    bench.submit(1, 0, cpus(1));
    assert_eq!(bench.starts(), [busy.0]);
    let idle = bench.join(1, limit);
    let gang = bench.submit(1, 5, request);
    bench.submit(1, 0, cpus(1));
    assert_eq!(bench.starts(), [], "the idle worker is held");
    (bench, gang, idle)
}

#[test]
fn a_cancelled_task_gives_up_the_place_that_was_held_for_it() {
    let (mut bench, gang, idle) = held_for_a_gang(Request::gang(2));
    bench.core.cancel(bench.now, gang, None);
    bench.drain();
    assert_eq!(bench.starts(), [idle.0]);
}

#[test]
fn a_lost_worker_frees_what_was_held_together_with_it() {
    let mut bench = Bench::new();
    bench.join(1, None);
    bench.submit(1, 0, cpus(1));
    let (idle, lost) = (bench.join(1, None), bench.join(1, None));
    bench.submit(1, 5, Request::gang(3));
    bench.submit(1, 0, cpus(1));
    assert_eq!(bench.starts(), [1], "the idle workers are held");
    bench.core.handle_event(bench.now, News::WorkerLost { worker: lost, reason: LossReason::Stopped });
    bench.drain();
    assert_eq!(bench.starts(), [idle.0], "three workers there will not be");
}

#[test]
fn a_place_is_not_held_beyond_the_last_moment_to_start() {
    let (mut bench, _, idle) = held_for_a_gang(Request::gang(2).with_min_time(Span::secs(900)));
    bench.pass(Span::secs(99));
    assert_eq!(bench.starts(), []);
    bench.pass(Span::secs(3));
    assert_eq!(bench.starts(), [idle.0]);
}

#[test]
fn a_task_that_starts_elsewhere_gives_up_the_place_that_was_held_for_it() {
    let mut bench = Bench::new();
    let first = bench.join(4, None);
    bench.submit(1, 0, cpus(2));
    bench.submit(1, 5, cpus(4));
    bench.submit(2, 0, cpus(1));
    assert_eq!(bench.starts(), [first.0], "what is left of the first worker is held");
    let second = bench.join(4, None);
    assert_eq!(bench.starts(), [second.0, first.0, first.0]);
}

#[test]
fn a_gang_that_gets_other_workers_gives_up_the_one_that_was_held() {
    let mut bench = Bench::new();
    let workers: Vec<WorkerId> = (0..3).map(|_| bench.join(2, None)).collect();
    bench.submit(5, 0, cpus(1));
    let running = std::mem::take(&mut bench.opened);
    assert_eq!(running.len(), 5, "one cpu of the third worker is free");
    bench.submit(1, 5, Request::gang(2));
    bench.submit(1, 0, cpus(1));
    assert_eq!(bench.starts(), [], "the third is held");
    for (worker, grant, task) in running.into_iter().filter(|(worker, ..)| *worker != workers[2]) {
        bench.end(worker, grant, task);
    }
    assert_eq!(bench.starts(), [workers[2].0, workers[0].0]);
}

#[test]
fn a_gang_that_never_starts_is_called_back_at_the_last_moment() {
    let mut bench = Bench::new();
    for _ in 0..2 {
        bench.join(1, Some(Span::secs(100)));
    }
    bench.submit(1, 0, Request::gang(2).with_min_time(Span::secs(60)));
    let (main, grant, _) = bench.opened.remove(0);
    bench.pass(Span::secs(41));
    let (worker, lane, n) = bench.recalled.remove(0);
    assert_eq!((worker, lane), (main, grant));
    let tasks = vec![hq_core::OrdinalRange::new(Ordinal(0), 1)];
    bench.core.handle_event(bench.now, News::Recalled { worker, grant, n, tasks });
    bench.drain();
    assert_eq!(bench.closed, [main]);
}

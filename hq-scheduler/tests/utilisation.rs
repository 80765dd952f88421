//! Workers with a least utilisation, when tasks end.

mod common;

use common::{array, booted};
use hq_core::{
    GrantId, LaneReport, Ordinal, Outcome, Profile, Request, RunEnd, Span, Tick, ToWorker, WorkerConfig, WorkerId,
    WorkerResources,
};
use hq_scheduler::{Action, News, Scheduler};

const NOW: Tick = Tick(1_000_000);

/// One worker of nine cpus, all of which have to be in use, and tasks of three.
struct Bench {
    core: Scheduler,
    worker: WorkerId,
    running: Vec<(GrantId, Ordinal)>,
}

impl Bench {
    fn new() -> Self {
        let mut core = booted();
        let cpus = WorkerResources::cpus(9).unwrap();
        let worker = core.join(NOW, WorkerConfig { min_utilization: 10_000, ..WorkerConfig::new("w", cpus) }).unwrap();
        Self { core, worker, running: vec![] }
    }

    fn submit(&mut self, tasks: u32) {
        let profile = Profile::new(Request::cpus(3).unwrap());
        self.core.submit(NOW, array(tasks, profile)).unwrap();
    }

    /// Runs what the core says; how many tasks run then.
    fn run(&mut self) -> usize {
        while let Some(action) = self.core.poll_action(NOW) {
            let Action::Send { message, .. } = action else { continue };
            let (grant, work) = match message {
                ToWorker::Open(open) => (open.grant, open.work),
                ToWorker::Extend { grant, work } => (grant, work),
                _ => continue,
            };
            let task = work[0].runs[0].first;
            self.running.push((grant, task));
            self.report(LaneReport { grant, ended: vec![], started: Some((task, Span(0))) });
        }
        self.running.len()
    }

    /// The first `n` end, each as long as tasks are that get no backlog.
    fn end(&mut self, n: usize) {
        for (grant, task) in self.running.drain(..n).collect::<Vec<_>>() {
            let ended = vec![RunEnd { task, age: Span(0), took: Span::secs(1), outcome: Outcome::Finished }];
            self.report(LaneReport { grant, ended, started: None });
        }
    }

    fn report(&mut self, lane: LaneReport) {
        self.core.handle_event(NOW, News::Report { worker: self.worker, lane });
    }
}

#[test]
fn what_runs_counts() {
    let mut bench = Bench::new();
    bench.submit(3);
    assert_eq!(bench.run(), 3);
    bench.end(2);
    assert_eq!(bench.run(), 1);
    bench.submit(1);
    assert_eq!(bench.run(), 1, "six of nine cpus");
    bench.submit(1);
    assert_eq!(bench.run(), 3);
}

#[test]
fn a_lane_goes_on_only_where_enough_goes_on() {
    let mut bench = Bench::new();
    bench.submit(5);
    assert_eq!(bench.run(), 3);
    bench.end(1);
    assert_eq!(bench.run(), 3, "the two others run");
    bench.end(3);
    assert_eq!(bench.run(), 0, "the last one alone is too little");
    bench.submit(2);
    assert_eq!(bench.run(), 3, "what came back and what is new");
}

#[test]
fn lanes_that_end_together_go_on_together() {
    let mut bench = Bench::new();
    bench.submit(6);
    assert_eq!(bench.run(), 3);
    bench.end(3);
    assert_eq!(bench.run(), 3);
}

//! What turns out to take less time than was thought may go before what is reserved, without anything else having happened
//! where it is reserved.

mod common;

use common::{array, booted, node};
use hq_core::{GrantId, LaneReport, Ordinal, Outcome, Profile, Request, RunEnd, Span, Tick, ToWorker, WorkerId};
use hq_scheduler::{Action, News, Scheduler};

const NOW: Tick = Tick(1_000_000);

struct Bench {
    core: Scheduler,
    /// What runs, in the order of starts.
    running: Vec<(GrantId, WorkerId, Ordinal)>,
}

impl Bench {
    fn submit(&mut self, tasks: u32, cpus: u32, limit: Option<Span>) -> Ordinal {
        let profile = Profile { time_limit: limit, ..Profile::new(Request::cpus(cpus).unwrap()) };
        let submit = array(tasks, profile);
        let job = self.core.submit(NOW, submit).unwrap();
        self.run();
        self.core.job(job).unwrap().submits[0].0
    }

    fn run(&mut self) {
        while let Some(action) = self.core.poll_action(NOW) {
            let Action::Send { worker, message } = action else { continue };
            let (grant, work) = match message {
                ToWorker::Open(open) => (open.grant, open.work),
                ToWorker::Extend { grant, work } => (grant, work),
                _ => continue,
            };
            let task = work[0].runs[0].first;
            self.running.push((grant, worker, task));
            self.report(worker, LaneReport { grant, ended: vec![], started: Some((task, Span(0))) });
        }
    }

    fn report(&mut self, worker: WorkerId, lane: LaneReport) {
        self.core.handle_event(NOW.after(Span::secs(1)), News::Report { worker, lane });
    }

    fn end(&mut self, task: Ordinal, took: Span) {
        let at = self.running.iter().position(|(_, _, other)| *other == task).unwrap();
        let (grant, worker, task) = self.running.remove(at);
        let ended = vec![RunEnd { task, age: Span(0), took, outcome: Outcome::Finished }];
        self.report(worker, LaneReport { grant, ended, started: None });
        self.run();
    }

    fn started_on(&self, worker: u32) -> usize {
        self.running.iter().filter(|(_, other, _)| other.0 == worker).count()
    }
}

#[test]
fn what_is_shorter_than_thought_goes_before_what_is_reserved() {
    let mut core = booted();
    core.set_policy(Tick(0), "easy-backfill", "pack").unwrap();
    for cpus in [4, 1] {
        core.join(NOW, node(cpus)).unwrap();
    }
    let mut bench = Bench { core, running: vec![] };
    bench.submit(1, 3, Some(Span::secs(1000)));
    bench.submit(1, 4, Some(Span::secs(1000)));
    let first = bench.submit(100, 1, None);
    assert_eq!((bench.started_on(1), bench.started_on(2)), (1, 1), "nobody knows how long it takes");
    bench.end(first, Span(500_000));
    assert_eq!((bench.started_on(1), bench.started_on(2)), (2, 1), "it takes half a second");
}

//! Tasks that wait for a moment in a repaired journal, in which what they depend on has lost its end.

mod common;

use common::node;
use hq_core::{
    DepKind, Deps, Fact, GrantId, JobDep, JobId, JobSpec, JobTarget, LaneReport, Ordinal, Outcome, Profile, Record,
    Request, RetryRule, RunEnd, Span, Submit, TaskIds, TaskNumber, Tick, ToWorker, Work, WorkerId,
};
use hq_scheduler::{Action, Condenser, News, Salvager, Scheduler};

/// A server and a worker with room for all.
struct Bench {
    core: Scheduler,
    now: Tick,
    facts: Vec<Record>,
    /// Work in the order in which it was handed out.
    given: Vec<(WorkerId, GrantId, Ordinal)>,
}

impl Bench {
    fn new(core: Scheduler, now: Tick) -> Self {
        let mut bench = Self { core, now, facts: vec![], given: vec![] };
        bench.core.boot(now, "uid".into(), 0, "1".into());
        bench.core.join(now, node(8)).unwrap();
        bench.drain();
        bench
    }

    fn drain(&mut self) {
        while let Some(action) = self.core.poll_action(self.now) {
            match action {
                Action::Record(fact) => self.facts.push(Record { at: self.now, fact }),
                Action::Send { worker, message: ToWorker::Open(open) } => self.start(worker, open.grant, &open.work),
                Action::Send { worker, message: ToWorker::Extend { grant, work } } => self.start(worker, grant, &work),
                _ => {}
            }
        }
    }

    fn start(&mut self, worker: WorkerId, grant: GrantId, work: &[Work]) {
        let task = work[0].runs[0].first;
        self.given.push((worker, grant, task));
        let lane = LaneReport { grant, ended: vec![], started: Some((task, Span(0))) };
        self.core.handle_event(self.now, News::Report { worker, lane });
    }

    fn submit(&mut self, tasks: u32, deps: Deps, after: Vec<JobDep>) -> u32 {
        let retry = vec![RetryRule::parse("any:9:60s").unwrap()];
        let profile = Profile { retry, ..Profile::new(Request::cpus(1).unwrap()) };
        let target = JobTarget::New(JobSpec::default());
        let submit = Submit::array(target, TaskIds::Next(tasks), "program", vec![].into(), profile);
        let job = self.core.submit(self.now, Submit { deps, after, ..submit }).unwrap();
        self.drain();
        job.0
    }

    /// Ends the run that was given last.
    fn end(&mut self, outcome: Outcome) {
        let (worker, grant, task) = *self.given.last().unwrap();
        self.now = self.now.after(Span::secs(1));
        let ended = vec![RunEnd { task, age: Span(0), took: Span::secs(1), outcome }];
        self.core.handle_event(self.now, News::Report { worker, lane: LaneReport { grant, ended, started: None } });
        self.drain();
    }

    /// Lets an hour pass, timer by timer.
    fn pass_an_hour(&mut self) {
        let end = self.now.after(Span::secs(3600));
        while let Some(next) = self.core.poll_timeout().filter(|next| *next <= end) {
            self.now = self.now.max(next);
            self.core.handle_timeout(self.now);
            self.drain();
        }
        self.now = end;
    }

    fn given(&self) -> Vec<u64> {
        self.given.iter().map(|(_, _, task)| task.0).collect()
    }

    /// What a repair makes of a snapshot of all that has been, of which some records are lost.
    fn without(&self, is_lost: impl Fn(&Fact) -> bool) -> Scheduler {
        let mut condenser = Condenser::new();
        self.facts.iter().for_each(|record| condenser.take(record).unwrap());
        let (mut salvager, mut core, mut lost) = (Salvager::new(), Scheduler::new(), 0);
        for record in condenser.records() {
            let kept = if is_lost(&record.fact) {
                lost += 1;
                Some(salvager.lose(1).unwrap())
            } else {
                salvager.take(record.clone()).unwrap()
            };
            kept.iter().for_each(|record| core.replay(record).unwrap());
        }
        assert!(lost > 0, "there is something to lose");
        core
    }
}

fn is_end(fact: &Fact) -> bool {
    matches!(fact, Fact::TasksRan { state, .. } if state.is_end())
}

#[test]
fn the_end_of_a_delay_does_not_start_what_depends_on_a_lost_end() {
    let mut live = Bench::new(Scheduler::new(), Tick(0));
    let chain = Deps::new([None, Some((TaskNumber(0), DepKind::Success))]).unwrap();
    live.submit(2, chain, vec![]);
    live.end(Outcome::Finished);
    live.end(Outcome::Failed("no".into()));
    let (first, second) = (live.given()[0], live.given()[1]);
    assert_ne!(first, second);

    let mut repaired = Bench::new(live.without(is_end), live.now);
    assert_eq!(repaired.given(), [first], "its end is lost");
    repaired.pass_an_hour();
    assert_eq!(repaired.given(), [first], "the delay is over, the dependency is not");
    repaired.end(Outcome::Finished);
    assert_eq!(repaired.given(), [first, second]);
    repaired.end(Outcome::Finished);
    assert_eq!(repaired.given(), [first, second], "each once");
}

#[test]
fn the_end_of_a_delay_does_not_open_a_submit_that_waits_for_a_job() {
    let mut live = Bench::new(Scheduler::new(), Tick(0));
    let before = live.submit(1, Deps::default(), vec![]);
    live.submit(1, Deps::default(), vec![JobDep { job: JobId(before), kind: DepKind::Success }]);
    live.end(Outcome::Finished);
    live.end(Outcome::Failed("no".into()));
    let (first, second) = (live.given()[0], live.given()[1]);
    assert_ne!(first, second);

    let mut repaired =
        Bench::new(live.without(|fact| is_end(fact) || matches!(fact, Fact::SnapshotEnded { .. })), live.now);
    assert_eq!(repaired.given(), [first], "its end is lost, and that it had been waited for");
    repaired.pass_an_hour();
    assert_eq!(repaired.given(), [first], "the delay is over, the job is not");
    repaired.end(Outcome::Finished);
    assert_eq!(repaired.given(), [first, second]);
}

//! Random commands and news, sound ones and stale, against a reference that spells out each task and knows nothing of
//! classes, queues or rounds: where a task goes it reads from the core's messages, what becomes of it it works out alone.
//! After each drain, a second core that only ever replayed the records has to be in the same state.

#[path = "../common/mod.rs"]
mod common;
mod reference;

use std::collections::{BTreeMap, VecDeque};

use common::{array, node};
use hq_core::{
    CrashLimit, DepKind, Deps, Epoch, GrantId, JobId, JobSpec, JobTarget, LaneReport, LossReason, Ordinal,
    OrdinalRange, Outcome, Profile, Record, Request, RetryOn, RetryRule, RunEnd, Span, Submit, TaskIds, TaskNumber,
    Tick, ToWorker, WorkerId,
};
use hq_scheduler::{Action, CancelToken, Canceling, News, Scheduler};
use proptest::prelude::*;
use reference::{Again, Hand, Reference};

/// One thing that happens. Numbers choose among what is there, so that each value means something.
#[derive(Clone, Debug)]
enum Op {
    Submit {
        tasks: u32,
        cpus: u32,
        priority: i32,
        crash: u8,
        max_fails: Option<u32>,
        deps: Vec<(u8, u8, u8)>,
        attach: bool,
    },
    Gang {
        nodes: u32,
    },
    Open,
    Close(u8),
    Cancel(u8),
    Forget(u8),
    Join {
        cpus: u32,
    },
    Lose {
        which: u8,
        reason: u8,
    },
    /// A lane works: ends what runs, and starts the next if `go` says so; that many times, in one report.
    Work {
        which: u8,
        ends: u8,
        outcome: u8,
        go: bool,
    },
    Answer(u8),
    Stale {
        which: u8,
        kind: u8,
    },
    Wait(u32),
}

fn op() -> impl Strategy<Value = Op> {
    let deps = || prop::collection::vec((any::<u8>(), any::<u8>(), any::<u8>()), 0..6);
    let submit = (1u32..12, 1u32..4, -1i32..2, 0u8..4, prop::option::weighted(0.3, 0u32..3), deps(), any::<bool>());
    prop_oneof![
        5 => submit.prop_map(|(tasks, cpus, priority, crash, max_fails, deps, attach)| {
            Op::Submit { tasks, cpus, priority, crash, max_fails, deps, attach }
        }),
        1 => (1u32..4).prop_map(|nodes| Op::Gang { nodes }),
        1 => Just(Op::Open),
        1 => any::<u8>().prop_map(Op::Close),
        2 => any::<u8>().prop_map(Op::Cancel),
        1 => any::<u8>().prop_map(Op::Forget),
        3 => (1u32..6).prop_map(|cpus| Op::Join { cpus }),
        2 => (any::<u8>(), any::<u8>()).prop_map(|(which, reason)| Op::Lose { which, reason }),
        14 => (any::<u8>(), 0u8..6, any::<u8>(), prop::bool::weighted(0.8))
            .prop_map(|(which, ends, outcome, go)| Op::Work { which, ends, outcome, go }),
        4 => any::<u8>().prop_map(Op::Answer),
        3 => (any::<u8>(), any::<u8>()).prop_map(|(which, kind)| Op::Stale { which, kind }),
        2 => prop_oneof![1u32..5_000, 500_000u32..3_000_000].prop_map(Op::Wait),
    ]
}

struct Rig {
    now: Tick,
    core: Scheduler,
    shadow: Scheduler,
    reference: Reference,
    records: u64,
    /// Recalls on their way, oldest first.
    recalls: VecDeque<(WorkerId, GrantId, u32, Vec<OrdinalRange>)>,
    last_report: Option<(WorkerId, LaneReport)>,
    jobs: Vec<JobId>,
    /// Cancels without an answer yet.
    cancels: BTreeMap<CancelToken, JobId>,
}

impl Rig {
    fn new() -> Self {
        let mut rig = Self {
            now: Tick(1),
            core: Scheduler::new(),
            shadow: Scheduler::new(),
            reference: Reference::default(),
            records: 0,
            recalls: VecDeque::new(),
            last_report: None,
            jobs: vec![],
            cancels: BTreeMap::new(),
        };
        rig.core.boot(rig.now, "uid".into(), 0, "1".into());
        rig.drain();
        rig
    }

    fn apply(&mut self, op: Op) {
        self.now = self.now.after(Span(100));
        match op {
            Op::Submit { tasks, cpus, priority, crash, max_fails, deps, attach } => {
                self.submit(tasks, Request::cpus(cpus).unwrap(), priority, crash, max_fails, &deps, attach);
            }
            Op::Gang { nodes } => self.submit(1, Request::gang(nodes), 0, 0, None, &[], false),
            Op::Open => {
                let spec = JobSpec { name: String::new(), max_fails: Some(2) };
                let job = self.core.open(self.now, spec);
                self.reference.add_job(job, Some(2), true);
                self.jobs.push(job);
            }
            Op::Close(which) => {
                if let Some(job) = pick(&self.jobs, which) {
                    self.core.close(self.now, job);
                    self.reference.close(job);
                }
            }
            Op::Cancel(which) => {
                if let Some(job) = pick(&self.jobs, which) {
                    self.cancel(job);
                }
            }
            Op::Forget(which) => {
                if let Some(job) = pick(&self.jobs, which) {
                    let may = self.reference.may_forget(job);
                    assert_eq!(self.core.forget(self.now, job), may, "forget of job {job}");
                    if may {
                        self.reference.forget(job);
                        self.jobs.retain(|known| *known != job);
                    }
                }
            }
            Op::Join { cpus } => {
                let config = node(cpus);
                let worker = self.core.join(self.now, config).unwrap();
                self.reference.workers.insert(worker);
            }
            Op::Lose { which, reason } => self.lose(which, reason),
            Op::Work { which, ends, outcome, go } => self.work(which, ends, outcome, go),
            Op::Answer(which) => self.answer(which),
            Op::Stale { which, kind } => self.stale(which, kind),
            Op::Wait(micros) => {
                self.now = self.now.after(Span(u64::from(micros)));
                self.core.handle_timeout(self.now);
                self.reference.pass(self.now);
            }
        }
        self.drain();
        self.compare();
    }

    #[expect(clippy::too_many_arguments, reason = "one call per shape of submit")]
    fn submit(
        &mut self,
        tasks: u32,
        request: Request,
        priority: i32,
        crash: u8,
        max_fails: Option<u32>,
        deps: &[(u8, u8, u8)],
        attach: bool,
    ) {
        let open = self.jobs.iter().rev().copied().find(|job| self.reference.is_open(*job)).filter(|_| attach);
        let target = match open {
            Some(job) => JobTarget::Attach(job),
            None => JobTarget::New(JobSpec { name: String::new(), max_fails }),
        };
        let crash_limit = match crash {
            0 => CrashLimit::NeverRestart,
            1 => CrashLimit::Limit(1),
            2 => CrashLimit::Limit(2),
            _ => CrashLimit::Unlimited,
        };
        // Some tasks are run again, with and without a delay; those that may never run twice are not.
        let again = Again { any: (tasks % 3) as u16, crash: (tasks / 3 % 3) as u16 }.unless(crash == 0);
        let delay = Span::millis(u64::from(tasks % 2) * 700);
        let rule = |on, n| RetryRule::at_once(on, n).waiting(delay, delay);
        let retry = match crash {
            0 => vec![],
            _ => vec![rule(RetryOn::Any, again.any), rule(RetryOn::Crash, again.crash)],
        };
        let profile = Profile { priority, crash_limit, retry, ..Profile::new(request) };
        let mut submit = Submit::array(target, TaskIds::Next(tasks), "program", vec![].into(), profile);
        let first = open.map_or(0, |job| self.reference.next_number(job));
        // Edges lead from a task to any earlier number of the job.
        let mut rows: Vec<Vec<(TaskNumber, DepKind)>> = vec![vec![]; tasks as usize];
        for (task, on, kind) in deps {
            let index = u32::from(*task) % tasks;
            let number = first + index;
            let kind = [DepKind::Success, DepKind::AnyEnd, DepKind::Failure][usize::from(*kind) % 3];
            if number > 0 {
                rows[index as usize].push((TaskNumber(u32::from(*on) % number), kind));
            }
        }
        if !deps.is_empty() {
            submit.deps = Deps::new(rows.clone()).unwrap();
        }
        let job = self.core.submit(self.now, submit).unwrap();
        if open.is_none() {
            self.reference.add_job(job, max_fails, false);
            self.jobs.push(job);
        }
        self.reference.add_tasks(job, tasks, crash_limit, again, &rows);
    }

    fn cancel(&mut self, job: JobId) {
        match (self.core.cancel(self.now, job, None), self.reference.cancel(self.now, job)) {
            (Canceling::Done(_), true) => {}
            (Canceling::Pending(token), false) => _ = self.cancels.insert(token, job),
            (core, done) => panic!("cancel of {job}: the core says {core:?}, the reference complete = {done}"),
        }
    }

    fn lose(&mut self, which: u8, reason: u8) {
        let workers: Vec<WorkerId> = self.reference.workers.iter().copied().collect();
        let Some(worker) = pick(&workers, which) else { return };
        let reason =
            [LossReason::ConnectionLost, LossReason::Stopped, LossReason::HeartbeatLost][usize::from(reason) % 3];
        self.core.handle_event(self.now, News::WorkerLost { worker, reason });
        self.reference.lose(self.now, worker, reason.is_crash());
        self.recalls.retain(|(of, ..)| *of != worker);
    }

    /// The hand of a worker moves as a sound worker's would, and its report is told to both.
    fn work(&mut self, which: u8, ends: u8, outcome: u8, go: bool) {
        let lanes: Vec<GrantId> = self.reference.hands.keys().copied().collect();
        let Some(grant) = pick(&lanes, which) else { return };
        let Some(hand) = self.reference.hands.get_mut(&grant) else { return };
        let worker = hand.worker;
        let mut report = LaneReport { grant, ended: vec![], started: None };
        for n in 0..=ends {
            if let Some(task) = hand.running.filter(|_| n > 0) {
                hand.running = None;
                let outcome = if hand.killed.remove(&task) {
                    Outcome::Killed
                } else if n == ends && outcome.is_multiple_of(4) {
                    Outcome::Failed("bad".into())
                } else {
                    Outcome::Finished
                };
                hand.holds |= outcome != Outcome::Finished;
                report.started.take_if(|(started, _)| *started == task);
                report.ended.push(RunEnd { task, age: Span(1), took: Span(50), outcome });
            }
            if hand.running.is_none()
                && !hand.holds
                && (go || n < ends)
                && let Some(task) = hand.waiting.pop_front()
            {
                hand.running = Some(task);
                report.started = Some((task, Span(1)));
            }
        }
        if report.ended.is_empty() && report.started.is_none() {
            return;
        }
        self.core.handle_event(self.now, News::Report { worker, lane: report.clone() });
        self.reference.report(self.now, &report);
        self.last_report = Some((worker, report));
    }

    fn answer(&mut self, which: u8) {
        // Those of one lane are answered in order.
        let Some((worker, grant, ..)) = self.recalls.get(usize::from(which) % self.recalls.len().max(1)).cloned()
        else {
            return;
        };
        let at = self.recalls.iter().position(|(_, of, ..)| *of == grant).unwrap();
        let (_, _, n, asked) = self.recalls.remove(at).unwrap();
        let back: Vec<Ordinal> =
            self.reference.hands.get_mut(&grant).map(|hand| hand.give_back(&asked)).unwrap_or_default();
        let tasks: Vec<OrdinalRange> = back.iter().copied().map(OrdinalRange::one).collect();
        self.core.handle_event(self.now, News::Recalled { worker, grant, n, tasks });
        self.reference.recalled(self.now, grant, n, &back);
    }

    /// News that say nothing new: no record may follow, and no task may change.
    fn stale(&mut self, which: u8, kind: u8) {
        let lanes: Vec<(GrantId, WorkerId)> =
            self.reference.hands.iter().map(|(grant, hand)| (*grant, hand.worker)).collect();
        let Some((grant, worker)) = pick(&lanes, which) else { return };
        let nowhere = GrantId { epoch: Epoch(0), n: grant.n };
        let lane = |grant, task| LaneReport {
            grant,
            ended: vec![RunEnd { task, age: Span(0), took: Span(0), outcome: Outcome::Finished }],
            started: Some((task, Span(0))),
        };
        let own = self.reference.hands[&grant].running.or(self.reference.hands[&grant].waiting.front().copied());
        let foreign = Ordinal(1 << 40);
        let all = vec![OrdinalRange::new(Ordinal(0), 1 << 30)];
        let news = match kind % 7 {
            0 => News::Report { worker, lane: lane(nowhere, own.unwrap_or(foreign)) },
            1 => News::Report { worker: WorkerId(worker.0 + 1000), lane: lane(grant, own.unwrap_or(foreign)) },
            2 => News::Report { worker, lane: lane(grant, foreign) },
            3 => News::Recalled { worker, grant, n: 1 << 20, tasks: all },
            4 => News::WorkerLost { worker: WorkerId(worker.0 + 1000), reason: LossReason::ConnectionLost },
            5 => News::Recalled { worker: WorkerId(worker.0 + 1000), grant, n: 1, tasks: all },
            _ => match self.last_report.clone() {
                Some((worker, lane)) => News::Report { worker, lane },
                None => return,
            },
        };
        let before = self.records;
        self.core.handle_event(self.now, news.clone());
        self.drain();
        assert_eq!(self.records, before, "stale news changed something: {news:?}");
    }

    fn drain(&mut self) {
        while let Some(action) = self.core.poll_action(self.now) {
            match action {
                Action::Record(fact) => {
                    self.records += 1;
                    self.shadow.replay(&Record { at: self.now, fact }).unwrap();
                }
                Action::Send { worker, message } => self.send(worker, message),
                Action::Canceled { token, .. } => assert!(self.cancels.remove(&token).is_some(), "answered twice"),
                Action::Warn(text) => panic!("{text}"),
                Action::StopIdle { worker } => panic!("worker {worker} has no idle timeout"),
            }
        }
        assert!(self.core.same_state(&self.shadow), "a replay of the records gives another state");
    }

    fn send(&mut self, worker: WorkerId, message: ToWorker) {
        assert!(self.reference.workers.contains(&worker), "told a worker that is gone: {message:?}");
        match message {
            ToWorker::Open(open) => {
                let hand = Hand::new(worker, &open.work);
                assert!(self.reference.hands.insert(open.grant, hand).is_none(), "opened twice");
            }
            ToWorker::Extend { grant, work } => self.reference.hands.get_mut(&grant).unwrap().add(&work),
            ToWorker::Recall { grant, n, tasks } => {
                if let Some(hand) = self.reference.hands.get_mut(&grant) {
                    hand.last_recall = hand.last_recall.max(n);
                }
                self.recalls.push_back((worker, grant, n, tasks));
            }
            ToWorker::Close { grant } => {
                let hand = self.reference.hands.remove(&grant).unwrap();
                assert!(hand.running.is_none() && hand.waiting.is_empty(), "closed a lane at work");
                self.recalls.retain(|(_, of, ..)| *of != grant);
            }
            ToWorker::Kill { grant, task } => {
                if let Some(hand) = self.reference.hands.get_mut(&grant).filter(|hand| hand.running == Some(task)) {
                    hand.killed.insert(task);
                }
            }
            ToWorker::GoOn { grant } => {
                if let Some(hand) = self.reference.hands.get_mut(&grant) {
                    hand.holds = false;
                }
            }
            ToWorker::Submit(_) | ToWorker::DropSubmit(_) => {}
            other => panic!("not the core's to say: {other:?}"),
        }
    }

    fn compare(&self) {
        for (job, known) in &self.reference.jobs {
            let view = self.core.job(*job).unwrap();
            assert_eq!(view.counts, self.reference.counts(*job), "counters of job {job}");
            assert_eq!(view.is_open, known.is_open);
            let waiting = self.cancels.values().filter(|of| *of == job).count();
            assert_eq!(waiting, self.reference.cancels_of(*job), "cancels of job {job} without an answer");
        }
        assert_eq!(self.core.jobs().count(), self.reference.jobs.len());
        for (task, known) in &self.reference.tasks {
            let view = self.core.task(*task).unwrap();
            assert_eq!((view.state, view.instance.0), (known.state, known.instance), "task {task}: {known:?}");
        }
    }
}

fn pick<T: Clone>(items: &[T], which: u8) -> Option<T> {
    items.get(usize::from(which) % items.len().max(1)).cloned()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_core_does_what_its_reference_does(ops in prop::collection::vec(op(), 1..80)) {
        let mut rig = Rig::new();
        for op in ops {
            rig.apply(op);
        }
    }

    /// A submit that is cancelled before anything could start leaves nothing behind but its ids.
    #[test]
    fn submit_and_cancel_equal_no_submit(ops in prop::collection::vec(op(), 1..40), tasks in 1u32..9, cpus in 1u32..4) {
        let mut plain = Rig::new();
        let mut detour = Rig::new();
        for op in &ops {
            plain.apply(op.clone());
            detour.apply(op.clone());
        }
        let submit = |cpus| {
            let profile = Profile::new(Request::cpus(cpus).unwrap());
            array(tasks, profile)
        };
        let job = detour.core.submit(detour.now, submit(cpus)).unwrap();
        let canceling = detour.core.cancel(detour.now, job, None);
        prop_assert!(matches!(canceling, Canceling::Done(_)), "{:?}", canceling);
        let mut recalled = false;
        while let Some(action) = detour.core.poll_action(detour.now) {
            let Action::Send { message, .. } = action else { continue };
            // A queue that got tasks calls back what waits below it, though they are gone again.
            prop_assert!(matches!(message, ToWorker::Recall { .. }), "nobody hears of it: {:?}", message);
            recalled = true;
        }
        prop_assume!(!recalled);
        // The same submit on both: the same placement.
        let placed = |rig: &mut Rig| {
            let job = rig.core.submit(rig.now, submit(1)).unwrap();
            let base = rig.core.job(job).unwrap().submits[0].0;
            let mut placed = vec![];
            while let Some(action) = rig.core.poll_action(rig.now) {
                if let Action::Send { worker, message: ToWorker::Open(open) } = action {
                    // Of others that start as well, the ordinals are the same; its own come later on the detour.
                    let name = |task: u64| task.checked_sub(base.0).ok_or(task);
                    let tasks: Vec<_> = open.work.iter().flat_map(|work| &work.runs).map(|run| name(run.first.0)).collect();
                    placed.push((worker, open.grant, open.allocation, tasks));
                }
            }
            placed
        };
        prop_assert_eq!(placed(&mut plain), placed(&mut detour));
    }
}

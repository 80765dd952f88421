//! A core, workers that come back, and what was written of all that.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::common::ordinals;
use hq_core::{
    CrashLimit, GrantId, HeldGrant, JobId, JobSpec, JobTarget, LaneReport, Ordinal, OrdinalRange, Outcome, Profile,
    Record, Request, ResourceDef, RunEnd, Span, Submit, TaskIds, Tick, ToWorker, Variants, WorkerConfig, WorkerId,
    WorkerResources,
};
use hq_scheduler::{Action, Condenser, News, Scheduler};

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Submit { shapes: Vec<u8>, each: u8 },
    End(u8),
    Cancel(u8),
    Forget(u8),
    Suspend(u8),
    Condense,
    Restart { pruned: bool },
}

pub(crate) const SHAPES: usize = 8;
/// The shape for which no worker has what it needs.
const NOWHERE: usize = SHAPES - 1;

fn shapes() -> [Profile; SHAPES] {
    let request = |text: &[&str]| Request::parse(text.iter().copied()).unwrap();
    let either = Variants::new(vec![request(&["cpus=1", "gpus=1"]), request(&["cpus=3"])]).unwrap();
    [
        Profile::new(request(&["cpus=1"])),
        Profile::new(request(&["cpus=2"])),
        Profile::new(request(&["cpus=1", "gpus=1"])),
        Profile::new(either),
        Profile::new(Request::gang(2)),
        Profile::new(request(&["cpus=1"]).with_min_time(Span::secs(1))),
        Profile { crash_limit: CrashLimit::NeverRestart, ..Profile::new(request(&["cpus=1"])) },
        Profile::new(request(&["cpus=1", "fpgas=1"])),
    ]
}

/// What a worker has.
struct Hand {
    worker: WorkerId,
    shape: usize,
    /// The first one runs.
    tasks: VecDeque<Ordinal>,
    killed: BTreeSet<Ordinal>,
}

pub(crate) struct Rig {
    core: Scheduler,
    now: Tick,
    workers: Vec<WorkerId>,
    jobs: Vec<JobId>,
    hands: BTreeMap<GrantId, Hand>,
    /// The shape of each task that was ever submitted.
    shape_of: BTreeMap<Ordinal, usize>,
    /// Follows the facts since the last restart.
    shadow: Scheduler,
    condensed: Condenser,
    /// Knows nothing of what was over when it was pruned last.
    pruned: Condenser,
}

impl Rig {
    pub(crate) fn new() -> Self {
        let mut rig = Self {
            core: Scheduler::new(),
            now: Tick(1),
            workers: vec![],
            jobs: vec![],
            hands: BTreeMap::new(),
            shape_of: BTreeMap::new(),
            shadow: Scheduler::new(),
            condensed: Condenser::new(),
            pruned: Condenser::new(),
        };
        rig.core.boot(rig.now, "uid".into(), 0, "1".into());
        for _ in 0..2 {
            let resources = ["cpus=4", "gpus=[a]"].map(|def| ResourceDef::parse(def).unwrap());
            let config = WorkerConfig::new("w", WorkerResources::new(resources.to_vec(), vec![]).unwrap());
            let on_server_lost = hq_core::OnServerLost::Reconnect { timeout: Span::secs(60) };
            rig.workers.push(rig.core.join(rig.now, WorkerConfig { on_server_lost, ..config }).unwrap());
        }
        rig.drain();
        rig
    }

    pub(crate) fn apply(&mut self, op: &Op) {
        self.now = self.now.after(Span::millis(10));
        match op {
            Op::Submit { shapes, each } => self.submit(shapes, *each),
            Op::End(which) => self.end(*which),
            Op::Cancel(which) => {
                if let Some(job) = pick(&self.jobs, *which) {
                    self.core.cancel(self.now, job, None);
                }
            }
            Op::Forget(which) => {
                if let Some(job) = pick(&self.jobs, *which)
                    && self.core.forget(self.now, job)
                {
                    self.jobs.retain(|known| *known != job);
                }
            }
            Op::Suspend(which) => {
                if let Some(worker) = pick(&self.workers, *which)
                    && self.core.suspend(self.now, worker)
                {
                    self.drain();
                    self.take_back(worker);
                }
            }
            Op::Condense => self.condense(),
            Op::Restart { pruned } => self.restart(*pruned),
        }
        self.drain();
    }

    /// All that can run does, and all jobs are forgotten: no class is left.
    pub(crate) fn end_all(&mut self) {
        while !self.hands.is_empty() {
            self.end(0);
            self.drain();
        }
        let waits = |(task, shape): (&Ordinal, &usize)| {
            *shape != NOWHERE && self.core.task(*task).is_some_and(|task| !task.state.is_end())
        };
        assert_eq!(self.shape_of.iter().find(|known| waits(*known)), None, "it could run");
        for job in self.jobs.clone() {
            self.core.cancel(self.now, job, None);
            self.drain();
        }
        for job in std::mem::take(&mut self.jobs) {
            assert!(self.core.forget(self.now, job));
            self.drain();
        }
        let head = self.condensed.records().into_iter().find_map(|record| match record.fact {
            hq_core::Fact::SnapshotBegun { head } => Some(head),
            _ => None,
        });
        let head = head.unwrap();
        assert_eq!((head.classes, head.free_classes), (vec![], vec![]));
    }

    fn submit(&mut self, of: &[u8], each: u8) {
        let profiles: Vec<Profile> = of.iter().map(|shape| shapes()[usize::from(*shape)].clone()).collect();
        let tasks = u32::from(each) * of.len() as u32;
        let target = JobTarget::New(JobSpec::default());
        let mut submit = Submit::array(target, TaskIds::Next(tasks), "program", vec![].into(), profiles[0].clone());
        submit.profile_of = (0..tasks).map(|task| (task % of.len() as u32) as u16).collect();
        submit.profiles = profiles;
        let job = self.core.submit(self.now, submit).unwrap();
        let base = self.core.job(job).unwrap().submits[0].0;
        let shape = |task: u64| usize::from(of[task as usize % of.len()]);
        self.shape_of.extend((0..u64::from(tasks)).map(|task| (base.plus(task), shape(task))));
        self.jobs.push(job);
    }

    fn end(&mut self, which: u8) {
        let lanes: Vec<GrantId> = self.hands.keys().copied().collect();
        let Some(grant) = pick(&lanes, which) else { return };
        let hand = self.hands.get_mut(&grant).unwrap();
        let worker = hand.worker;
        let Some(task) = hand.tasks.pop_front() else { return };
        let outcome = if hand.killed.remove(&task) { Outcome::Killed } else { Outcome::Finished };
        let ended = vec![RunEnd { task, age: Span(0), took: Span::millis(5), outcome }];
        let started = hand.tasks.front().map(|next| (*next, Span(0)));
        self.core.handle_event(self.now, News::Report { worker, lane: LaneReport { grant, ended, started } });
    }

    fn condense(&mut self) {
        self.pruned.drop_past();
        for condenser in [&mut self.condensed, &mut self.pruned] {
            let mut fresh = Condenser::new();
            condenser.records().iter().for_each(|record| fresh.take(record).unwrap());
            *condenser = fresh;
        }
    }

    /// The server begins anew with what was written, and its workers come back.
    fn restart(&mut self, pruned: bool) {
        if pruned {
            self.pruned.drop_past();
        }
        let records = if pruned { self.pruned.records() } else { self.condensed.records() };
        (self.core, self.shadow) = Default::default();
        (self.condensed, self.pruned) = (Condenser::new(), Condenser::new());
        records.iter().for_each(|record| self.core.replay(record).unwrap());
        records.iter().for_each(|record| self.write(record));
        assert!(self.core.same_state(&self.shadow));
        self.core.boot(self.now, "uid".into(), 0, "1".into());
        self.jobs.retain(|job| self.core.job(*job).is_some());
        self.drain();
        self.workers.clone().into_iter().for_each(|worker| self.take_back(worker));
    }

    fn take_back(&mut self, worker: WorkerId) {
        let held = |(grant, hand): (&GrantId, &Hand)| HeldGrant {
            grant: *grant,
            running: hand.tasks.front().map(|task| (*task, Span(0))),
            backlog: hand.tasks.iter().skip(1).copied().map(OrdinalRange::one).collect(),
        };
        let own = self.hands.iter().filter(|(_, hand)| hand.worker == worker);
        let held: Vec<HeldGrant> = own.map(held).collect();
        let kept = self.core.take_back(self.now, worker, &held, &[]).unwrap();
        for HeldGrant { grant, .. } in held {
            let hand = self.hands.get_mut(&grant).unwrap();
            let Some(kept) = kept.iter().find(|kept| kept.grant == grant) else {
                self.hands.remove(&grant);
                continue;
            };
            hand.tasks.retain(|task| kept.tasks.iter().any(|range| range.contains(*task)));
            let runs = |task: &Ordinal| (*task, Span(0));
            let started = hand.tasks.front().map(runs);
            self.core
                .handle_event(self.now, News::Report { worker, lane: LaneReport { grant, ended: vec![], started } });
        }
        self.core.go_on(worker, &kept);
        self.drain();
    }

    fn write(&mut self, record: &Record) {
        self.shadow.replay(record).unwrap();
        self.condensed.take(record).unwrap();
        self.pruned.take(record).unwrap();
    }

    fn drain(&mut self) {
        while let Some(action) = self.core.poll_action(self.now) {
            match action {
                Action::Record(fact) => self.write(&Record { at: self.now, fact }),
                Action::Send { worker, message } => self.send(worker, message),
                _ => {}
            }
        }
        assert!(self.core.same_state(&self.shadow), "a replay gives another state");
        assert!(self.condensed.agrees_with(&self.core), "a replay of a snapshot gives another state");
    }

    fn send(&mut self, worker: WorkerId, message: ToWorker) {
        match message {
            ToWorker::Open(open) => {
                let tasks = VecDeque::from(ordinals(&open.work));
                let shape = self.shape_of[&tasks[0]];
                let variants = &shapes()[shape].variants;
                assert_eq!(variants.get(open.variant), Some(&*open.request), "task {}", tasks[0]);
                assert_eq!(usize::from(open.variants), variants.iter().count());
                self.check(shape, &tasks);
                let started = tasks.front().map(|task| (*task, Span(0)));
                let hand = Hand { worker, shape, tasks, killed: BTreeSet::new() };
                assert!(self.hands.insert(open.grant, hand).is_none());
                let lane = LaneReport { grant: open.grant, ended: vec![], started };
                self.core.handle_event(self.now, News::Report { worker, lane });
            }
            ToWorker::Extend { grant, work } => {
                let tasks = VecDeque::from(ordinals(&work));
                self.check(self.hands[&grant].shape, &tasks);
                let hand = self.hands.get_mut(&grant).unwrap();
                let idle = hand.tasks.is_empty();
                hand.tasks.extend(tasks);
                let started = hand.tasks.front().filter(|_| idle).map(|task| (*task, Span(0)));
                if started.is_some() {
                    let lane = LaneReport { grant, ended: vec![], started };
                    self.core.handle_event(self.now, News::Report { worker, lane });
                }
            }
            ToWorker::Recall { grant, n, tasks } => {
                let Some(hand) = self.hands.get_mut(&grant) else { return };
                let running = hand.tasks.pop_front();
                let is_called = |task: &Ordinal| tasks.iter().any(|range| range.contains(*task));
                let back = hand.tasks.iter().copied().filter(is_called).map(OrdinalRange::one).collect();
                hand.tasks.retain(|task| !is_called(task));
                hand.tasks.extend(running);
                hand.tasks.rotate_right(usize::from(running.is_some()));
                self.core.handle_event(self.now, News::Recalled { worker, grant, n, tasks: back });
            }
            ToWorker::Kill { grant, task } => {
                self.hands.entry(grant).and_modify(|hand| _ = hand.killed.insert(task));
            }
            ToWorker::Close { grant } => {
                let hand = self.hands.remove(&grant);
                assert!(hand.is_some_and(|hand| hand.tasks.is_empty()), "closed a lane at work");
            }
            _ => {}
        }
    }

    /// Lanes run what they were opened for. No two shapes are one class.
    fn check(&self, shape: usize, tasks: &VecDeque<Ordinal>) {
        assert!(tasks.iter().all(|task| self.shape_of[task] == shape), "{tasks:?}");
    }
}

fn pick<T: Copy>(items: &[T], which: u8) -> Option<T> {
    items.get(usize::from(which) % items.len().max(1)).copied()
}

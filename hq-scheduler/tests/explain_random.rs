//! What is explained is what is: after each round of random lives, with no recall unanswered, no task is said to be due, and
//! what is said to lack, to be held or to be infeasible is looked up by naive means.

mod common;

use std::collections::BTreeMap;

use common::booted;
use hq_core::{
    CouplingItem, DepKind, Deps, Explanation, GrantId, JobSpec, JobTarget, LaneReport, LossReason, Need, Obstacle,
    Ordinal, Outcome, Profile, Request, ResourceDef, ResourceEntry, Rng, RunEnd, Span, Standing, Submit, TaskIds,
    TaskNumber, TaskState, Tick, ToWorker, Variants, Work, WorkerConfig, WorkerFit, WorkerId, WorkerResources,
};
use hq_scheduler::{Action, News, Scheduler, view::WorkerView};
use proptest::{prelude::*, test_runner::RngSeed};

/// A core with workers that do as they are told, and answer at once.
struct Rig {
    now: Tick,
    core: Scheduler,
    /// Order and placement.
    policy: (String, String),
    rng: Rng,
    lanes: BTreeMap<GrantId, Lane>,
    /// All tasks ever, with their requests, kind and whether they wait for another.
    tasks: BTreeMap<Ordinal, (Variants, String)>,
}

struct Lane {
    worker: WorkerId,
    tasks: Vec<Ordinal>,
}

impl Rig {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut core = booted();
        let (orders, placements): (Vec<String>, Vec<String>) =
            (core.orders().map(str::to_owned).collect(), core.placements().map(str::to_owned).collect());
        let policy = (rng.pick::<String>(&orders).clone(), rng.pick::<String>(&placements).clone());
        core.set_policy(Tick(0), &policy.0, &policy.1).unwrap();
        Self { now: Tick(1), core, policy, rng, lanes: BTreeMap::new(), tasks: BTreeMap::new() }
    }

    fn step(&mut self) {
        let passes = Span(self.rng.range(1, 1000));
        self.pass(passes);
        match self.rng.below(10) {
            0..3 => self.submit(),
            3..5 => self.join(),
            5 => self.lose(),
            6 => self.pass_time(),
            _ => self.end(),
        }
        self.drain();
    }

    fn pass_time(&mut self) {
        // Some wait for longer than anybody has patience.
        let hours = if self.rng.chance(10) { self.rng.range(1, 8) } else { 0 };
        let seconds = self.rng.range(1, 40);
        self.pass(Span::secs(hours * 3600 + seconds));
    }

    /// Time passes, and the core is woken whenever it wants to be.
    fn pass(&mut self, time: Span) {
        let until = self.now.after(time);
        let mut wakes = 0;
        while let Some(at) = self.core.poll_timeout().filter(|at| *at <= until) {
            wakes += 1;
            assert!(wakes < 1000, "{:?}: it is woken without end, now for {at:?}", self.policy);
            self.now = self.now.max(at);
            self.core.handle_timeout(self.now);
            self.drain();
        }
        self.now = until;
    }

    fn submit(&mut self) {
        let count = self.rng.range(1, 6) as u32;
        let variants = self.variants();
        let priority = self.rng.below(3) as i32;
        let kind = if self.rng.chance(15) { "special" } else { "program" };
        let time_limit = self.rng.chance(30).then(|| Span::secs(self.rng.range(1, 60)));
        let profile = Profile { priority, time_limit, ..Profile::new(variants.clone()) };
        let target = JobTarget::New(JobSpec::default());
        let mut submit = Submit::array(target, TaskIds::Next(count), kind, vec![].into(), profile);
        if self.rng.chance(20) {
            let row = |n: u32| n.checked_sub(1).map(|on| (TaskNumber(on), DepKind::Success));
            submit.deps = Deps::new((0..count).map(row)).unwrap();
        }
        let job = self.core.submit(self.now, submit).unwrap();
        let base = self.core.job(job).unwrap().submits[0].0;
        self.tasks.extend((0..u64::from(count)).map(|i| (base.plus(i), (variants.clone(), kind.to_owned()))));
    }

    fn variants(&mut self) -> Variants {
        if self.rng.chance(15) {
            return Variants::from(Request::gang(self.rng.range(1, 3) as u32).with_min_time(self.min_time()));
        }
        let count = if self.rng.chance(20) { 2 } else { 1 };
        let requests = (0..count).map(|_| {
            let cpus = *self.rng.pick(&["1", "1", "2", "3", "4", "0.5", "2 compact!", "3 tight!", "2 scatter", "all"]);
            let mut entries = vec![ResourceEntry::parse(&format!("cpus={cpus}")).unwrap()];
            if self.rng.chance(30) {
                let gpus = *self.rng.pick(&["1", "0.3", "0.6", "1.5", "1 compact!", "2 tight!"]);
                entries.push(ResourceEntry::parse(&format!("gpus={gpus}")).unwrap());
            }
            let min_time = self.min_time();
            Request::new(entries).unwrap().with_min_time(min_time)
        });
        Variants::new(requests.collect()).unwrap()
    }

    fn min_time(&mut self) -> Span {
        Span::secs(if self.rng.chance(25) { self.rng.range(1, 60) } else { 0 })
    }

    fn join(&mut self) {
        let cpus = *self.rng.pick(&["1", "2", "4", "6", "2x2", "2x3"]);
        let mut defs = vec![ResourceDef::parse_cpus(cpus).unwrap()];
        if self.rng.chance(40) {
            let gpus = *self.rng.pick(&["gpus=[a]", "gpus=[a,b]", "gpus=[[a],[b]]"]);
            defs.push(ResourceDef::parse(gpus).unwrap());
        }
        let near = if self.rng.chance(70) { "cpus[0]:gpus[0], cpus[1]:gpus[1]=64" } else { "cpus[0]:gpus[1]" };
        // Only groups can be near each other.
        let coupling = CouplingItem::parse_list(near, &defs).unwrap_or_default();
        let mut config = WorkerConfig::new("w", WorkerResources::new(defs, coupling).unwrap());
        if self.rng.chance(30) {
            config.group = "other".into();
        }
        if self.rng.chance(30) {
            config.time_limit = Some(Span::secs(self.rng.range(5, 100)));
        }
        if self.rng.chance(25) {
            config.min_utilization = *self.rng.pick(&[1_000, 5_000, 7_500, 10_000]);
        }
        if self.rng.chance(50) {
            config.kinds = vec!["special".into()];
        }
        self.core.join(self.now, config).unwrap();
    }

    fn lose(&mut self) {
        let workers: Vec<WorkerId> = self.workers().map(|worker| worker.id).collect();
        if workers.len() < 3 {
            return;
        }
        let worker = *self.rng.pick(&workers);
        self.lanes.retain(|_, lane| lane.worker != worker);
        self.core.handle_event(self.now, News::WorkerLost { worker, reason: LossReason::Stopped });
    }

    /// The first task of a lane ends, and the next one starts.
    fn end(&mut self) {
        let busy: Vec<GrantId> =
            self.lanes.iter().filter(|(_, lane)| !lane.tasks.is_empty()).map(|(id, _)| *id).collect();
        if busy.is_empty() {
            return;
        }
        let grant = *self.rng.pick(&busy);
        let took = Span(self.rng.range(100, 20_000));
        let lane = self.lanes.get_mut(&grant).unwrap();
        let task = lane.tasks.remove(0);
        let ended = vec![RunEnd { task, age: Span(0), took, outcome: Outcome::Finished }];
        let report = LaneReport { grant, ended, started: lane.tasks.first().map(|task| (*task, Span(0))) };
        let worker = lane.worker;
        self.core.handle_event(self.now, News::Report { worker, lane: report });
    }

    fn drain(&mut self) {
        let mut actions = 0;
        while let Some(action) = self.core.poll_action(self.now) {
            actions += 1;
            assert!(actions < 100_000, "it goes round and round: {action:?}");
            let Action::Send { worker, message } = action else { continue };
            match message {
                ToWorker::Open(open) => {
                    self.lanes.insert(open.grant, Lane { worker, tasks: vec![] });
                    self.give(open.grant, &open.work);
                }
                ToWorker::Extend { grant, work } => self.give(grant, &work),
                ToWorker::Recall { grant, n, tasks } => {
                    let lane = self.lanes.get_mut(&grant).unwrap();
                    let asked = |task: &Ordinal| tasks.iter().any(|range| range.contains(*task));
                    let waiting = lane.tasks.split_off(lane.tasks.len().min(1));
                    let (back, kept): (Vec<_>, Vec<_>) = waiting.into_iter().partition(asked);
                    lane.tasks.extend(kept);
                    let tasks = back.into_iter().map(hq_core::OrdinalRange::one).collect();
                    self.core.handle_event(self.now, News::Recalled { worker, grant, n, tasks });
                }
                ToWorker::Close { grant } => _ = self.lanes.remove(&grant),
                _ => {}
            }
        }
    }

    /// A lane that has nothing to do starts the first task at once.
    fn give(&mut self, grant: GrantId, work: &[Work]) {
        let lane = self.lanes.get_mut(&grant).unwrap();
        let was_empty = lane.tasks.is_empty();
        let runs = work.iter().flat_map(|work| &work.runs);
        lane.tasks.extend(runs.flat_map(|run| (0..u64::from(run.numbers.count)).map(|i| run.first.plus(i))));
        if was_empty {
            let report = LaneReport { grant, ended: vec![], started: Some((lane.tasks[0], Span(0))) };
            let worker = lane.worker;
            self.core.handle_event(self.now, News::Report { worker, lane: report });
        }
    }

    fn workers(&self) -> impl Iterator<Item = WorkerView<'_>> {
        self.core.workers().filter(|worker| worker.lost.is_none())
    }

    fn check_some(&mut self) {
        let first = self.rng.below(10);
        for task in self.tasks.keys().filter(|task| task.0 % 10 == first) {
            self.check(*task);
        }
    }

    fn check_all(&self) {
        self.tasks.keys().for_each(|task| self.check(*task));
    }

    fn check(&self, task: Ordinal) {
        let (variants, kind) = &self.tasks[&task];
        let state = self.core.task(task).unwrap().state;
        let explanation = self.core.explain(self.now, task);
        assert_eq!(explanation.is_some(), !state.is_end(), "task {task}");
        let Some(explanation) = explanation else { return };
        assert_eq!(explanation.standing == Standing::Running, state == TaskState::Running);
        let policy = &self.policy;
        if explanation.standing == Standing::Due {
            let fits: Vec<&WorkerFit> = explanation.workers.iter().filter(|fit| fit.fits_now()).collect();
            panic!("{policy:?} at {:?}: task {task} of {variants:?} could start: {fits:?}", self.now);
        }
        assert_eq!(explanation.workers.len(), self.workers().count());
        self.check_feasible(&explanation, variants, kind);
        for fit in &explanation.workers {
            self.check_fit(&explanation, fit, variants, kind);
        }
    }

    /// What each worker could do once it is idle.
    fn check_feasible(&self, explanation: &Explanation, variants: &Variants, kind: &str) {
        let able = |worker: &WorkerView<'_>, request: &Request| {
            let lives = worker.config.time_limit.is_none_or(|limit| {
                worker.joined.after(limit) > self.now
                    && worker.joined.after(limit).since(self.now) >= request.min_time()
            });
            lives && worker.config.runs(kind) && self.core.pools(worker.id).unwrap().could_ever(request)
        };
        let feasible = variants.iter().any(|request| {
            let able: Vec<WorkerView<'_>> = self.workers().filter(|worker| able(worker, request)).collect();
            let group = |name: &str| able.iter().filter(|worker| worker.config.group == name).count();
            let most = ["default", "other"].into_iter().map(group).max().unwrap_or(0);
            most >= (request.nodes() as usize).max(1)
        });
        assert_eq!(explanation.is_feasible(), feasible, "{variants:?}: {explanation:?}");
        if explanation.standing == Standing::Infeasible {
            assert!(!feasible);
        }
    }

    /// Single lines agree with what is free, and the sum of them with what can be allocated.
    fn check_fit(&self, explanation: &Explanation, fit: &WorkerFit, variants: &Variants, kind: &str) {
        let worker = self.core.worker(fit.worker).unwrap();
        let pools = self.core.pools(fit.worker).unwrap();
        assert_eq!(fit.obstacle == Some(Obstacle::Kind), !worker.config.runs(kind));
        if let Some(Obstacle::Held { by }) = fit.obstacle {
            let blocker = explanation.blockers[by as usize];
            let queue = explanation.queue.as_ref().unwrap();
            assert!(blocker.rank < queue.rank && blocker.waiting > 0, "{explanation:?}");
        }
        for (request, variant) in variants.iter().zip(&fit.variants) {
            let (mut fits, mut lives) = (true, true);
            for requirement in &variant.requirements {
                match &requirement.need {
                    Need::Time { wanted, left } => {
                        lives = requirement.obstacle.is_none();
                        assert_eq!(lives, left.is_none_or(|left| left >= *wanted && left > Span::ZERO));
                    }
                    Need::Resource { resource, wanted: _, total, free } => {
                        fits &= requirement.obstacle.is_none();
                        assert_eq!((*total, *free), (pools.total(resource.as_str()), pools.free(resource.as_str())));
                    }
                    Need::Nodes { wanted, group, able, idle } => {
                        assert_eq!(*wanted, request.nodes());
                        assert!(group >= able && able >= idle);
                    }
                    Need::Utilization { .. } => {}
                }
            }
            if request.nodes() == 0 {
                assert_eq!(fits, pools.allocate(request).is_some(), "{request:?}: {fit:?}");
            }
            assert!(lives || !variant.fits_now());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(16), ..ProptestConfig::default() })]
    #[test]
    fn explanations_are_true(seed in any::<u64>()) {
        let mut rig = Rig::new(seed);
        for _ in 0..40 {
            rig.step();
            rig.check_some();
        }
        rig.check_all();
    }
}

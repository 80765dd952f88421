//! A scheduler and workers that answer at once: enough of a cluster to see who runs what, where and when.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::common::{array, ordinals};
use hq_core::{
    Allocation, GrantId, JobId, LaneReport, LossReason, Ordinal, OrdinalRange, Outcome, Profile, RunEnd, Span, Tick,
    ToWorker, WorkerConfig, WorkerId, WorkerResources,
};
use hq_scheduler::{Action, News, Scheduler};

pub(crate) struct World {
    pub(crate) core: Scheduler,
    pub(crate) now: Tick,
    pub(crate) workers: BTreeMap<String, WorkerId>,
    pub(crate) resources: BTreeMap<String, WorkerResources>,
    pub(crate) tasks: BTreeMap<String, Task>,
    pub(crate) jobs: BTreeMap<String, JobId>,
    /// What happened since it was taken last.
    pub(crate) log: Vec<String>,
    /// Workers that had nothing to do for too long.
    pub(crate) stopped: BTreeSet<String>,
    names: BTreeMap<Ordinal, String>,
    lanes: BTreeMap<GrantId, Lane>,
    /// When workers end by themselves.
    ends: BTreeMap<Tick, Vec<String>>,
}

pub(crate) struct Task {
    pub(crate) ordinal: Ordinal,
    takes: Option<Span>,
    /// Its latest start: when, on which workers (the main one first), what it got.
    pub(crate) run: Option<(Tick, Vec<String>, Allocation)>,
}

struct Lane {
    worker: WorkerId,
    hosts: Vec<String>,
    allocation: Allocation,
    waiting: VecDeque<Ordinal>,
    running: Option<(Ordinal, Tick)>,
    holds: bool,
    not_after: Option<Tick>,
}

/// When a world begins.
pub(crate) const START: Tick = Tick(1_000_000);

impl World {
    pub(crate) fn new() -> Self {
        let mut core = Scheduler::new();
        core.boot(START, "uid".into(), 0, "1".into());
        Self {
            core,
            now: START,
            workers: BTreeMap::new(),
            resources: BTreeMap::new(),
            tasks: BTreeMap::new(),
            jobs: BTreeMap::new(),
            log: vec![],
            stopped: BTreeSet::new(),
            names: BTreeMap::new(),
            lanes: BTreeMap::new(),
            ends: BTreeMap::new(),
        }
    }

    pub(crate) fn join(&mut self, config: WorkerConfig) {
        let (name, limit) = (config.hostname.clone(), config.time_limit);
        self.resources.insert(name.clone(), config.resources.clone());
        let id = self.core.join(self.now, config).unwrap();
        if let Some(limit) = limit {
            self.ends.entry(self.now.after(limit)).or_default().push(name.clone());
        }
        assert!(self.workers.insert(name.clone(), id).is_none(), "{name} twice");
        self.settle();
    }

    /// One job of `count` tasks: `name`, or `name.0` and so on.
    pub(crate) fn submit(&mut self, name: &str, count: u32, profile: Profile, takes: Option<Span>) {
        let submit = array(count, profile);
        let job = self.core.submit(self.now, submit).unwrap();
        let base = self.core.job(job).unwrap().submits[0].0;
        for i in 0..u64::from(count) {
            let task = if count == 1 { name.to_owned() } else { format!("{name}.{i}") };
            self.names.insert(base.plus(i), task.clone());
            let known = self.tasks.insert(task, Task { ordinal: base.plus(i), takes, run: None });
            assert!(known.is_none(), "{name} twice");
        }
        self.jobs.insert(name.to_owned(), job);
    }

    pub(crate) fn cancel(&mut self, name: &str) {
        self.core.cancel(self.now, self.jobs[name], None);
        self.settle();
    }

    pub(crate) fn lose(&mut self, name: &str, reason: LossReason) {
        let Some(worker) = self.workers.remove(name) else { return };
        self.lanes.retain(|_, lane| lane.worker != worker);
        self.core.handle_event(self.now, News::WorkerLost { worker, reason });
        self.settle();
    }

    /// Ends a task that runs.
    pub(crate) fn end(&mut self, name: &str, outcome: Outcome) {
        let task = self.tasks[name].ordinal;
        let running = |lane: &Lane| lane.running.is_some_and(|(running, _)| running == task);
        let grant = self.lanes.iter().find(|(_, lane)| running(lane)).map(|(grant, _)| *grant);
        self.end_run(grant.unwrap_or_else(|| panic!("{name} does not run")), outcome);
        self.settle();
    }

    /// Lets time pass; tasks end when their time is over, workers too.
    pub(crate) fn pass(&mut self, span: Span) {
        let until = self.now.after(span);
        loop {
            let task = self.next_end().map(|(at, _)| at);
            let worker = self.ends.keys().next().copied();
            let next = [task, worker, self.core.poll_timeout()].into_iter().flatten().min();
            match next.filter(|at| *at <= until) {
                None => break,
                Some(at) => self.now = self.now.max(at),
            }
            self.core.handle_timeout(self.now);
            while let Some(entry) = self.ends.first_entry().filter(|entry| *entry.key() <= self.now) {
                for name in entry.remove() {
                    self.lose(&name, LossReason::TimeLimitReached);
                }
            }
            while let Some((_, grant)) = self.next_end().filter(|(at, _)| *at <= self.now) {
                self.end_run(grant, Outcome::Finished);
            }
            self.settle();
        }
        self.now = until;
    }

    fn next_end(&self) -> Option<(Tick, GrantId)> {
        let ends = self.lanes.iter().filter_map(|(grant, lane)| {
            let (task, start) = lane.running?;
            Some((start.after(self.tasks[&self.names[&task]].takes?), *grant))
        });
        ends.min()
    }

    /// Does what the scheduler wants until it wants nothing.
    pub(crate) fn settle(&mut self) {
        while let Some(action) = self.core.poll_action(self.now) {
            match action {
                Action::Send { worker, message } => self.deliver(worker, message),
                Action::StopIdle { worker } => {
                    let name = self.name_of(worker);
                    self.note(format!("{name} stops"));
                    self.stopped.insert(name.clone());
                    self.lose(&name, LossReason::IdleTimeout);
                }
                _ => {}
            }
        }
    }

    fn deliver(&mut self, worker: WorkerId, message: ToWorker) {
        match message {
            ToWorker::Open(open) => {
                let hosts = if open.hosts.is_empty() { vec![self.name_of(worker)] } else { open.hosts.clone() };
                let lane = Lane {
                    worker,
                    hosts,
                    allocation: (*open.allocation).clone(),
                    waiting: ordinals(&open.work).into(),
                    running: None,
                    holds: false,
                    not_after: open.not_after.map(|span| self.now.after(span)),
                };
                self.lanes.insert(open.grant, lane);
                self.start(open.grant, vec![]);
            }
            ToWorker::Extend { grant, work } => {
                self.lanes.get_mut(&grant).unwrap().waiting.extend(ordinals(&work));
                self.start(grant, vec![]);
            }
            ToWorker::Recall { grant, n, tasks } => {
                let mut back = vec![];
                if let Some(lane) = self.lanes.get_mut(&grant) {
                    let asked = |task: &Ordinal| tasks.iter().any(|range| range.contains(*task));
                    back.extend(lane.waiting.iter().copied().filter(asked));
                    lane.waiting.retain(|task| !asked(task));
                }
                let tasks = back.into_iter().map(OrdinalRange::one).collect();
                self.core.handle_event(self.now, News::Recalled { worker, grant, n, tasks });
            }
            ToWorker::Kill { grant, task } => {
                let running = self.lanes.get(&grant).and_then(|lane| lane.running);
                if running.is_some_and(|(running, _)| running == task) {
                    self.end_run(grant, Outcome::Killed);
                }
            }
            ToWorker::GoOn { grant } => {
                if let Some(lane) = self.lanes.get_mut(&grant) {
                    lane.holds = false;
                    self.start(grant, vec![]);
                }
            }
            ToWorker::Close { grant } => {
                let closed = self.lanes.remove(&grant).unwrap();
                assert!(closed.running.is_none() && closed.waiting.is_empty(), "a lane is closed with work in it");
            }
            _ => {}
        }
    }

    fn end_run(&mut self, grant: GrantId, outcome: Outcome) {
        let lane = self.lanes.get_mut(&grant).unwrap();
        let (task, start) = lane.running.take().unwrap();
        lane.holds = outcome != Outcome::Finished;
        let how = match &outcome {
            Outcome::Finished => "ends",
            Outcome::Failed(_) | Outcome::FailedOf(_) => "fails",
            Outcome::Killed => "is killed",
        };
        let name = self.names[&task].clone();
        self.note(format!("{name} {how}"));
        self.start(grant, vec![RunEnd { task, age: Span(0), took: self.now.since(start), outcome }]);
    }

    /// Starts the next task of a lane if it may, and reports that and what ended.
    fn start(&mut self, grant: GrantId, ended: Vec<RunEnd>) {
        let lane = self.lanes.get_mut(&grant).unwrap();
        let worker = lane.worker;
        let in_time = lane.not_after.is_none_or(|limit| self.now <= limit);
        let mut started = None;
        if lane.running.is_none()
            && !lane.holds
            && in_time
            && let Some(task) = lane.waiting.pop_front()
        {
            lane.running = Some((task, self.now));
            started = Some((task, Span(0)));
            let (hosts, allocation) = (lane.hosts.clone(), lane.allocation.clone());
            let name = self.names[&task].clone();
            let shown = crate::Granted { worker: &self.resources[&hosts[0]], allocation: &allocation }.show();
            self.note(format!("{name} on {} {shown}", hosts.join("+")).trim_end().to_owned());
            self.tasks.get_mut(&name).unwrap().run = Some((self.now, hosts, allocation));
        }
        if started.is_some() || !ended.is_empty() {
            let lane = LaneReport { grant, ended, started };
            self.core.handle_event(self.now, News::Report { worker, lane });
        }
    }

    fn note(&mut self, text: String) {
        self.log.push(format!("{} {text}", self.now.since(START)));
    }

    fn name_of(&self, worker: WorkerId) -> String {
        self.workers.iter().find(|(_, id)| **id == worker).map(|(name, _)| name.clone()).unwrap()
    }
}

//! Workers that answer at once: the task that started first ends first, but for gangs, which go on.

use std::collections::{BTreeMap, VecDeque};

use crate::common::{array, ordinals};
use hq_core::{
    GrantId, LaneReport, Ordinal, OrdinalRange, Outcome, Profile, Request, RunEnd, Span, TaskState, Tick, ToWorker,
    WorkerConfig, WorkerId,
};
use hq_scheduler::{Action, News, Scheduler};

pub(crate) struct Cluster {
    pub(crate) core: Scheduler,
    pub(crate) now: Tick,
    /// How long each task takes.
    took: Span,
    lanes: BTreeMap<GrantId, (WorkerId, VecDeque<Ordinal>)>,
    pub(crate) running: VecDeque<(GrantId, Ordinal)>,
    /// How many were started, by worker.
    pub(crate) started: BTreeMap<WorkerId, u32>,
}

impl Cluster {
    pub(crate) fn new(workers: impl IntoIterator<Item = WorkerConfig>, took: Span) -> Self {
        let (now, mut core) = (Tick(1_000_000), Scheduler::new());
        core.boot(Tick(0), "uid".into(), 0, "1".into());
        for worker in workers {
            core.join(now, worker).unwrap();
        }
        Self { core, now, took, lanes: BTreeMap::new(), running: VecDeque::new(), started: BTreeMap::new() }
    }

    pub(crate) fn submit(&mut self, priority: i32, tasks: u32, request: Request) -> Ordinal {
        self.submit_as(tasks, Profile { priority, ..Profile::new(request) })
    }

    pub(crate) fn submit_as(&mut self, tasks: u32, profile: Profile) -> Ordinal {
        let submit = array(tasks, profile);
        let job = self.core.submit(self.now, submit).unwrap();
        self.drain();
        self.core.job(job).unwrap().submits[0].0
    }

    /// Does what the core says.
    pub(crate) fn drain(&mut self) {
        let mut actions = 0;
        while let Some(action) = self.core.poll_action(self.now) {
            actions += 1;
            assert!(actions < 100_000, "it goes round and round: {action:?}");
            let Action::Send { worker, message } = action else { continue };
            match message {
                ToWorker::Open(open) => {
                    self.lanes.insert(open.grant, (worker, ordinals(&open.work).into()));
                    self.start(open.grant, open.request.nodes() == 0);
                }
                ToWorker::Extend { grant, work } => {
                    let idle = !self.running.iter().any(|(lane, _)| *lane == grant);
                    self.lanes.get_mut(&grant).unwrap().1.extend(ordinals(&work));
                    if idle {
                        self.start(grant, true);
                    }
                }
                ToWorker::Recall { grant, n, tasks } => {
                    let backlog = &mut self.lanes.get_mut(&grant).unwrap().1;
                    let is_called = |task: &Ordinal| tasks.iter().any(|range| range.contains(*task));
                    let tasks = backlog.iter().copied().filter(is_called).map(OrdinalRange::one).collect();
                    backlog.retain(|task| !is_called(task));
                    self.core.handle_event(self.now, News::Recalled { worker, grant, n, tasks });
                }
                ToWorker::Close { grant } => drop(self.lanes.remove(&grant)),
                _ => {}
            }
        }
    }

    fn start(&mut self, grant: GrantId, ends: bool) {
        let Some((worker, backlog)) = self.lanes.get_mut(&grant) else { return };
        let (worker, Some(task)) = (*worker, backlog.pop_front()) else { return };
        if ends {
            self.running.push_back((grant, task));
        }
        *self.started.entry(worker).or_default() += 1;
        let lane = LaneReport { grant, ended: vec![], started: Some((task, Span(0))) };
        self.core.handle_event(self.now, News::Report { worker, lane });
    }

    /// The oldest task ends, and the next of its lane starts.
    pub(crate) fn step(&mut self) {
        let (grant, task) = self.running.pop_front().unwrap();
        self.now = self.now.after(Span(self.took.0 / 8));
        let worker = self.lanes[&grant].0;
        let ended = vec![RunEnd { task, age: Span(0), took: self.took, outcome: Outcome::Finished }];
        self.core.handle_event(self.now, News::Report { worker, lane: LaneReport { grant, ended, started: None } });
        self.start(grant, true);
        self.drain();
    }

    pub(crate) fn is_running(&self, task: Ordinal) -> bool {
        self.core.task(task).unwrap().state == TaskState::Running
    }
}

use std::collections::{BTreeMap, VecDeque};

use hq_core::{
    Allocation, GrantId, LaneReport, LossReason, Ordinal, OrdinalRange, Outcome, RunEnd, Span, Tick, ToWorker, Work,
    WorkerId,
};
use hq_scheduler::News;

/// What the workers would do, at once and without a fault.
#[derive(Debug, Default)]
pub(super) struct Fleet {
    lanes: BTreeMap<GrantId, Lane>,
    /// Answers that the core has not heard yet.
    pub(super) news: Vec<News>,
    /// What changed since last asked, in order.
    pub(super) changes: Vec<Change>,
}

#[derive(Debug)]
struct Lane {
    worker: WorkerId,
    is_gang: bool,
    allocation: Allocation,
    backlog: VecDeque<Ordinal>,
    running: Option<(Ordinal, Tick)>,
    closing: bool,
}

/// Of a run.
#[derive(Debug)]
pub(super) enum Change {
    /// It began, and takes this; a gang takes whole workers.
    Begun { grant: GrantId, worker: WorkerId, task: Ordinal, is_gang: bool, allocation: Allocation },
    /// It ended.
    Ended { task: Ordinal, outcome: Outcome },
}

impl Fleet {
    /// A worker hears this.
    pub(super) fn hear(&mut self, now: Tick, worker: WorkerId, message: ToWorker) {
        match message {
            ToWorker::Open(open) => {
                let (is_gang, backlog) = (open.request.nodes() > 0, tasks_of(&open.work).collect());
                let lane = Lane {
                    worker,
                    is_gang,
                    allocation: (*open.allocation).clone(),
                    backlog,
                    running: None,
                    closing: false,
                };
                self.lanes.insert(open.grant, lane);
                self.start_and_tell(now, open.grant);
            }
            ToWorker::Extend { grant, work } => {
                if let Some(lane) = self.lanes.get_mut(&grant) {
                    lane.backlog.extend(tasks_of(&work));
                    self.start_and_tell(now, grant);
                }
            }
            ToWorker::Recall { grant, n, tasks } => {
                let mut returned: Vec<OrdinalRange> = vec![];
                if let Some(lane) = self.lanes.get_mut(&grant) {
                    lane.backlog.retain(|task| {
                        let back = tasks.iter().any(|range| range.contains(*task));
                        if back {
                            returned.push(OrdinalRange::one(*task));
                        }
                        !back
                    });
                }
                self.news.push(News::Recalled { worker, grant, n, tasks: returned });
            }
            ToWorker::Close { grant } => {
                if let Some(lane) = self.lanes.get_mut(&grant) {
                    lane.closing = true;
                    lane.backlog.clear();
                    if lane.running.is_none() {
                        self.lanes.remove(&grant);
                    }
                }
            }
            ToWorker::Kill { grant, task } => self.end(now, grant, task, Outcome::Killed),
            // Bodies, acknowledgements and the like are nothing to it; no run of its own accord ever ends badly.
            _ => {}
        }
    }

    /// A run ends and the lane goes on with its next task. Nothing happens for one that does not run.
    pub(super) fn end(&mut self, now: Tick, grant: GrantId, task: Ordinal, outcome: Outcome) {
        let Some(lane) = self.lanes.get_mut(&grant) else { return };
        let Some((_, since)) = lane.running.take_if(|(running, _)| *running == task) else { return };
        let worker = lane.worker;
        self.changes.push(Change::Ended { task, outcome: outcome.clone() });
        let ended = vec![RunEnd { task, age: Span::ZERO, took: now.since(since), outcome }];
        if lane.closing {
            self.lanes.remove(&grant);
        }
        let started = self.start(now, grant).map(|task| (task, Span::ZERO));
        self.news.push(News::Report { worker, lane: LaneReport { grant, ended, started } });
    }

    /// A worker goes, and what runs there is cut. A gang goes on until the core hears of it and has it killed.
    pub(super) fn lose(&mut self, worker: WorkerId) {
        for (_, lane) in self.lanes.extract_if(.., |_, lane| lane.worker == worker) {
            if let Some((task, _)) = lane.running {
                self.changes.push(Change::Ended { task, outcome: Outcome::Killed });
            }
        }
        self.news.push(News::WorkerLost { worker, reason: LossReason::TimeLimitReached });
    }

    fn start_and_tell(&mut self, now: Tick, grant: GrantId) {
        if let Some(task) = self.start(now, grant)
            && let Some(lane) = self.lanes.get(&grant)
        {
            let report = LaneReport { grant, ended: vec![], started: Some((task, Span::ZERO)) };
            self.news.push(News::Report { worker: lane.worker, lane: report });
        }
    }

    fn start(&mut self, now: Tick, grant: GrantId) -> Option<Ordinal> {
        let lane = self.lanes.get_mut(&grant).filter(|lane| lane.running.is_none())?;
        let task = lane.backlog.pop_front()?;
        lane.running = Some((task, now));
        let (worker, is_gang, allocation) = (lane.worker, lane.is_gang, lane.allocation.clone());
        self.changes.push(Change::Begun { grant, worker, task, is_gang, allocation });
        Some(task)
    }
}

fn tasks_of(work: &[Work]) -> impl Iterator<Item = Ordinal> + '_ {
    let runs = work.iter().flat_map(|work| &work.runs);
    runs.flat_map(|run| OrdinalRange::new(run.first, run.numbers.count.into()).iter())
}

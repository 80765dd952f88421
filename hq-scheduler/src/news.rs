//! What the outside tells. Stale news change nothing.

use hq_core::{
    End, Ends, Fact, GrantId, LaneReport, Ordinal, OrdinalRange, Outcome, RangeSet, RunEnd, Span, TaskState, Tick,
    ToWorker, WorkerId,
};

use crate::{
    Action, News, Scheduler,
    state::{Effects, Grant},
};

impl Scheduler {
    /// Takes news; stale ones change nothing.
    pub fn handle_event(&mut self, now: Tick, news: News) {
        let mut fx = Effects::default();
        match news {
            News::WorkerLost { worker, reason } => {
                if !self.state.away.contains_key(&worker) {
                    if !self.state.workers.contains_key(&worker) {
                        return;
                    }
                    self.forget_worker(worker);
                }
                self.emit(now, Fact::WorkerLost { worker, reason }, &mut fx);
                self.release_worker(worker);
            }
            News::Report { worker, lane } => {
                if !self.is_lane_of(worker, lane.grant) {
                    return;
                }
                let before = self.actions.len();
                let held = self.report(now, &lane, &mut fx);
                if self.actions.len() == before {
                    return; // Stale through and through: not even a reason to look at the lane again.
                }
                self.settle(now, std::mem::take(&mut fx));
                if held {
                    self.actions.push_back(Action::Send { worker, message: ToWorker::GoOn { grant: lane.grant } });
                }
                self.mind.hungry.insert(lane.grant);
            }
            News::Recalled { worker, grant, n, tasks } => {
                if !self.is_lane_of(worker, grant) {
                    return;
                }
                if !self.recalled(now, grant, n, &tasks, &mut fx) {
                    return;
                }
                // With work of its own left it must not take back at once what was called for others.
                if self.state.grants.get(&grant).is_some_and(|lane| lane.tasks.is_empty()) {
                    self.mind.hungry.insert(grant);
                }
                self.mind.dirty_workers.extend(std::mem::take(&mut self.mind.unserved));
                if self.too_late(grant, now) {
                    self.call_back_all(grant); // The limit passed while this recall was on its way.
                }
            }
        }
        self.settle(now, fx);
    }

    /// What is known of a worker beside the lasting state is not true any more.
    pub(crate) fn forget_worker(&mut self, worker: WorkerId) {
        let Some(lost) = self.state.workers.get(&worker) else { return };
        let (config, deadline) = (lost.config.clone(), lost.deadline());
        self.count_resources(&config, false);
        self.mind.idle.end(worker);
        self.mind.makes.leave(worker);
        self.mind.choosy.remove(&worker);
        if let Some(deadline) = deadline {
            self.mind.deadlines.remove(&(deadline, worker));
        }
        self.forget_worker_bodies(worker);
    }

    /// A worker has just gone: its recalls will not be answered, and nothing is held there any more.
    pub(crate) fn release_worker(&mut self, worker: WorkerId) {
        self.mind.dirty_workers.extend(std::mem::take(&mut self.mind.unserved));
        self.release_with(worker);
        self.mind.dirty_workers.remove(&worker);
    }

    fn is_lane_of(&self, worker: WorkerId, grant: GrantId) -> bool {
        self.state.grants.get(&grant).is_some_and(|lane| lane.worker == worker)
    }

    /// Books the ends and the start of a lane's report. Says whether the lane holds now.
    fn report(&mut self, now: Tick, report: &LaneReport, fx: &mut Effects) -> bool {
        let grant = report.grant;
        let mut finished: Vec<End> = Vec::new();
        let mut seen = RangeSet::new();
        let mut held = false;
        for end in &report.ended {
            let Some(lane) = self.state.grants.get(&grant).filter(|lane| lane.tasks.contains(end.task)) else {
                continue;
            };
            if seen.contains(end.task) {
                continue; // Told twice: those that finished leave the lane only with the whole batch.
            }
            seen.insert(OrdinalRange::one(end.task));
            let times = place_run(lane, now, end);
            let ended = self.state.task_state(end.task).is_none_or(TaskState::is_end);
            if end.outcome == Outcome::Finished && !ended {
                finished.push(times);
                continue;
            }
            self.book_finished(now, grant, &mut finished, fx);
            held |= end.outcome != Outcome::Finished;
            let fact = match &end.outcome {
                _ if ended => Fact::TaskKilled { grant, task: end.task },
                outcome => self.after_failure(now, grant, end.task, times.start, outcome),
            };
            if let Fact::TaskRetried { .. } = fact {
                // A task runs in a lane once: its worker knows which it was given, and so is a run named.
                self.mind.spent.insert(grant);
            }
            self.emit(now, fact, fx);
        }
        self.book_finished(now, grant, &mut finished, fx);
        if let Some((task, age)) = report.started
            && let Some(lane) = self.state.grants.get(&grant).filter(|lane| lane.tasks.contains(task))
        {
            let start = now.before(age).max(lane.opened);
            let worker = lane.worker;
            match self.state.task_state(task) {
                Some(TaskState::Waiting) => self.emit(now, Fact::TaskStarted { grant, task, start }, fx),
                Some(TaskState::Running) | None => {}
                Some(_) => self.actions.push_back(Action::Send { worker, message: ToWorker::Kill { grant, task } }),
            }
        }
        held
    }

    fn book_finished(&mut self, now: Tick, grant: GrantId, finished: &mut Vec<End>, fx: &mut Effects) {
        if finished.is_empty() {
            return;
        }
        self.measure(finished);
        let ends = Ends::new(finished.drain(..));
        self.emit(now, Fact::TasksFinished { grant, ends }, fx);
    }

    /// Learns how long tasks take, submit by submit.
    fn measure(&mut self, mut finished: &[End]) {
        while let Some(first) = finished.first() {
            let Some((base, submit)) = self.state.submit_of(first.task) else { return };
            let end = base.plus(submit.len());
            let same = finished.iter().take_while(|run| base <= run.task && run.task < end).count();
            let (batch, rest) = finished.split_at(same);
            let total: u64 = batch.iter().map(|run| run.end.since(run.start).0).sum();
            let before = self.mind.mean_run.get(&base).copied();
            self.mind.measure(base, Span(total), batch.len() as u64);
            self.note_shorter(base, before);
            finished = rest;
        }
    }

    /// Tasks that are expected to take less time than before may fit before something that is reserved.
    fn note_shorter(&mut self, base: Ordinal, before: Option<Span>) {
        let is_shorter = self.mind.mean_run.get(&base).is_some_and(|mean| before.is_none_or(|before| *mean < before));
        if !is_shorter || self.mind.held.values().all(|held| held.at.is_none()) {
            return;
        }
        let keys = self.state.submits.get(&base).into_iter().flat_map(|submit| &submit.keys);
        let waiting = keys.filter(|key| key.estimate.is_none() && self.state.ready.contains_key(*key));
        self.mind.dirty_queues.extend(waiting.copied());
    }

    /// Books the answer to a recall; says whether one was awaited.
    fn recalled(&mut self, now: Tick, grant: GrantId, n: u32, tasks: &[OrdinalRange], fx: &mut Effects) -> bool {
        let Some(asked) = self.mind.lanes.get_mut(&grant).and_then(|lane| lane.recalls.remove(&n)) else {
            return false;
        };
        let Some(lane) = self.state.grants.get(&grant) else { return false };
        // What was not asked for, is not there any more, or is known to run cannot come back.
        let mut returned = RangeSet::new();
        for range in tasks.iter().filter(|range| range.len > 0) {
            for asked in asked.iter() {
                let (start, end) = (range.start.max(asked.start), range.end().min(asked.end()));
                if start < end {
                    let cut = OrdinalRange::new(start, end.0 - start.0);
                    lane.tasks.intersect(cut).into_iter().for_each(|range| returned.insert(range));
                }
            }
        }
        if let Some(running) = lane.running {
            returned.remove(OrdinalRange::one(running));
        }
        if !returned.is_empty() {
            let tasks = returned.iter().collect();
            self.emit(now, Fact::GrantReturned { grant, tasks }, fx);
        }
        self.recall_is_over(grant, n);
        true
    }
}

/// A run is placed at receipt less its age, within the life of its grant.
fn place_run(lane: &Grant, now: Tick, run: &RunEnd) -> End {
    let end = now.before(run.age).max(lane.opened);
    let start = end.before(run.took).max(lane.opened);
    End { task: run.task, start, end }
}

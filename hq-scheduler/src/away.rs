//! Workers that lose their links and come back.

use std::collections::BTreeSet;

use hq_core::{
    ClassId, Fact, GrantId, HeldGrant, KeptGrant, Ordinal, OrdinalRange, RangeSet, Report, RunId, TaskState, Tick,
    ToWorker, WorkerId,
};

use crate::{
    Action, Scheduler,
    rooms::RoomId,
    state::{Effects, Worker},
};

impl Scheduler {
    /// A worker has lost its link and may come back: what it has waits for it, and it gets nothing more. Says whether it
    /// was there.
    pub fn suspend(&mut self, now: Tick, worker: WorkerId) -> bool {
        if !self.state.workers.contains_key(&worker) {
            return false;
        }
        let mut fx = Effects::default();
        self.forget_worker(worker);
        self.emit(now, Fact::WorkerAway { worker }, &mut fx);
        self.release_worker(worker);
        self.settle(now, fx);
        true
    }

    /// A worker is there again. It says what it has, and what happened there that it has no word of; the answer says what
    /// of that is still its own. None where it is not awaited.
    ///
    /// Tasks that it does not have wait again, with a new instance and without a crash. The caller takes the reports
    /// next, and then calls [`go_on`](Self::go_on).
    pub fn take_back(
        &mut self,
        now: Tick,
        worker: WorkerId,
        held: &[HeldGrant],
        reports: &[Report],
    ) -> Option<Vec<KeptGrant>> {
        if !self.state.away.contains_key(&worker) {
            return None;
        }
        let mut kept = Vec::new();
        let mut killed = Vec::new();
        for grant in self.state.suspended_of(worker) {
            // Twice the same lane is not what a sound worker says: the first counts.
            let Some(held) = held.iter().find(|held| held.grant == grant) else { continue };
            let tasks = self.still_there(grant, held, reports);
            killed.extend(held.running.map(|(task, _)| RunId { task, grant }).filter(|run| self.is_over(run.task)));
            kept.push(KeptGrant { grant, tasks });
        }
        let mut fx = Effects::default();
        self.emit(now, Fact::WorkerReturned { worker, kept: kept.clone() }, &mut fx);
        self.know_worker(now, worker);
        let deadline = self.state.workers.get(&worker).and_then(Worker::deadline);
        for kept in &kept {
            let lane = self.state.grants.get(&kept.grant);
            let request =
                lane.and_then(|lane| self.state.classes.get(lane.class).requests.get(usize::from(lane.variant)));
            if let Some(request) = request.cloned() {
                self.limit_lane(kept.grant, deadline, &request);
            }
        }
        self.offer_backlogs(&kept);
        self.settle(now, fx);
        self.kill_on(worker, killed);
        Some(kept)
    }

    /// While their worker was away nobody could have the backlogs of lanes that are back: whoever has room for such tasks is
    /// looked at again, though nothing has moved there.
    fn offer_backlogs(&mut self, kept: &[KeptGrant]) {
        let lanes = kept.iter().filter_map(|kept| self.state.grants.get(&kept.grant));
        let classes: BTreeSet<ClassId> = lanes.filter(|lane| lane.next().is_some()).map(|lane| lane.class).collect();
        for class in classes {
            let fitting: Vec<RoomId> = self.mind.rooms.all_fitting(class, &self.state).map(|(room, _)| room).collect();
            let rooms = fitting.into_iter().filter_map(|room| self.mind.rooms.get(room));
            self.mind.dirty_workers.extend(rooms.flat_map(|room| room.workers.iter().copied()));
        }
    }

    /// Lets lanes of a worker that came back start tasks again.
    pub fn go_on(&mut self, worker: WorkerId, kept: &[KeptGrant]) {
        let goes_on = kept.iter().filter(|kept| self.state.grants.contains_key(&kept.grant));
        let word = |kept: &KeptGrant| Action::Send { worker, message: ToWorker::GoOn { grant: kept.grant } };
        self.actions.extend(goes_on.map(word));
    }

    /// Tasks of a suspended lane that its worker has, or has something to tell of. What waits there and has ended for
    /// the books is let go.
    fn still_there(&self, grant: GrantId, held: &HeldGrant, reports: &[Report]) -> Vec<OrdinalRange> {
        let Some(lane) = self.state.suspended.get(&grant) else { return vec![] };
        let told = reports.iter().flat_map(|report| &report.lanes).filter(|lane| lane.grant == grant);
        let told = told
            .flat_map(|lane| lane.ended.iter().map(|end| end.task).chain(lane.started.iter().map(|(task, _)| *task)));
        let mut there = RangeSet::new();
        for range in held.backlog.iter().flat_map(|range| lane.tasks.intersect(*range)) {
            range.iter().filter(|task| !self.is_over(*task)).for_each(|task| there.insert(OrdinalRange::one(task)));
        }
        for task in told.chain(held.running.map(|(task, _)| task)).filter(|task| lane.tasks.contains(*task)) {
            there.insert(OrdinalRange::one(task));
        }
        there.iter().collect()
    }

    fn is_over(&self, task: Ordinal) -> bool {
        self.state.task_state(task).is_none_or(TaskState::is_end)
    }
}

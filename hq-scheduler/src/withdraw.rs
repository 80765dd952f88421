//! Taking tasks back from everywhere: cancel, and the abort of a job that failed too often.

use std::collections::{BTreeMap, BTreeSet};

use hq_core::{
    CancelOutcome, Fact, GrantId, JobId, OrdinalRange, RangeSet, RunId, Span, TaskState, Tick, ToWorker, WorkerId,
};

use crate::{
    Action, CancelToken, Scheduler,
    lanes_of_submit::InLane,
    mind::{Reach, Withdrawal},
    state::Effects,
};

/// How long an answer waits for backlogs to be called back.
const PATIENCE: Span = Span::secs(2);

/// Tasks in lanes.
#[derive(Default)]
struct Held {
    /// Those that are known to run.
    running: Vec<Kill>,
    /// The others of each lane.
    backlog: BTreeMap<GrantId, Vec<OrdinalRange>>,
}

/// A task that is to be stopped where it runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Kill {
    run: RunId,
    worker: WorkerId,
}

impl Scheduler {
    /// Ends the unfinished tasks of a job that `reach` names: at once what waits or is known to run, and what lies in backlogs
    /// as soon as these have answered. Says whether it is complete already, and how many tasks it ended.
    pub(crate) fn withdraw(
        &mut self,
        now: Tick,
        job_id: JobId,
        end: TaskState,
        reach: Reach,
        token: Option<CancelToken>,
        fx: &mut Effects,
    ) -> Option<u64> {
        let Some(job) = self.state.jobs.get(&job_id) else { return Some(0) };
        let bases = job.submits.clone();
        let mut open = RangeSet::new();
        for base in bases {
            for range in self.state.unfinished(base, self.state.range_of(base)).iter() {
                open.insert(range);
            }
        }
        let Held { mut running, backlog } = self.held_of(&open);
        let mut at_once = open;
        if reach == Reach::Waiting {
            running.drain(..).for_each(|kill| _ = at_once.remove(OrdinalRange::one(kill.run.task)));
            self.spare_suspended(&mut at_once);
        }
        let mut open = RangeSet::new();
        let mut pending = BTreeSet::new();
        for (grant, ranges) in backlog {
            for range in &ranges {
                at_once.remove(*range);
                open.insert(*range);
            }
            if let Some(n) = self.recall(grant, ranges) {
                pending.insert((grant, n));
            }
        }
        let ended = self.end_these(now, &at_once, running, end, fx);
        if pending.is_empty() {
            return Some(ended);
        }
        let deadline = now.after(PATIENCE);
        self.mind.last_withdrawal += 1;
        let id = self.mind.last_withdrawal;
        for (grant, _) in &pending {
            self.mind.awaited.entry(*grant).or_default().insert(id);
        }
        self.mind.withdrawals.insert(id, Withdrawal { job: job_id, end, reach, token, open, pending, deadline, ended });
        None
    }

    /// What lanes have of `tasks`.
    fn held_of(&mut self, tasks: &RangeSet) -> Held {
        let mut held = Held::default();
        self.lanes_with(tasks, |InLane { grant, worker, running, tasks }| {
            let Some(task) = running.filter(|task| tasks.contains(*task)) else {
                held.backlog.entry(grant).or_default().push(tasks);
                return;
            };
            held.running.push(Kill { run: RunId { task, grant }, worker });
            let before = OrdinalRange::new(tasks.start, task.0 - tasks.start.0);
            let after = OrdinalRange::new(task.plus(1), tasks.len - before.len - 1);
            for part in [before, after].into_iter().filter(|part| part.len > 0) {
                held.backlog.entry(grant).or_default().push(part);
            }
        });
        // Recalls name tasks in order.
        held.backlog.values_mut().for_each(|tasks| tasks.sort_unstable());
        held
    }

    /// Asks a lane for tasks that have not started; the answer carries the number returned.
    pub(crate) fn recall(&mut self, grant: GrantId, tasks: Vec<OrdinalRange>) -> Option<u32> {
        let worker = self.state.grants.get(&grant)?.worker;
        let lane = self.mind.lanes.entry(grant).or_default();
        lane.last_recall += 1;
        let n = lane.last_recall;
        lane.recalls.insert(n, tasks.clone());
        self.actions.push_back(Action::Send { worker, message: ToWorker::Recall { grant, n, tasks } });
        Some(n)
    }

    /// Ends those of `tasks` that have not ended, and kills those that a lane still holds.
    fn end_now(&mut self, now: Tick, tasks: &RangeSet, end: TaskState, fx: &mut Effects) -> u64 {
        let mut open = RangeSet::new();
        for range in tasks.iter() {
            for (base, part) in self.state.split_by_submit(range) {
                for run in self.state.unfinished(base, part).iter() {
                    open.insert(run);
                }
            }
        }
        let mut kills: Vec<Kill> = Vec::new();
        self.lanes_with(&open, |InLane { grant, worker, tasks, .. }| {
            kills.extend(tasks.iter().map(|task| Kill { run: RunId { task, grant }, worker }));
        });
        self.end_these(now, &open, kills, end, fx)
    }

    /// Ends tasks, none of which has ended, and kills those that are in lanes.
    fn end_these(&mut self, now: Tick, open: &RangeSet, kills: Vec<Kill>, end: TaskState, fx: &mut Effects) -> u64 {
        if open.is_empty() {
            return 0;
        }
        let ranges: Vec<OrdinalRange> = open.iter().collect();
        let fact = match end {
            TaskState::Canceled => Fact::TasksCanceled { tasks: ranges },
            _ => Fact::TasksAborted { tasks: ranges },
        };
        self.emit(now, fact, fx);
        self.kill(kills);
        open.len()
    }

    /// Tells each worker of all of its own.
    fn kill(&mut self, mut kills: Vec<Kill>) {
        // Lanes that were opened together have their tasks in order already.
        kills.sort();
        let workers: Vec<WorkerId> = kills.iter().map(|kill| kill.worker).collect();
        for own in WorkerId::sorted(&workers).chunk_by(|a, b| a.0 == b.0) {
            let Some((worker, _)) = own.first() else { continue };
            self.kill_on(*worker, own.iter().map(|(_, at)| kills[*at].run).collect());
        }
    }

    /// Stops these where they run.
    pub(crate) fn kill_on(&mut self, worker: WorkerId, runs: Vec<RunId>) {
        self.actions.extend(ToWorker::kill(runs).map(|message| Action::Send { worker, message }));
    }

    /// A recall was answered.
    pub(crate) fn recall_is_over(&mut self, grant: GrantId, n: u32) {
        self.mind.stir(grant);
        let ids: Vec<u64> = self.mind.awaited.get(&grant).into_iter().flatten().copied().collect();
        for id in ids {
            let Some(withdrawal) = self.mind.withdrawals.get_mut(&id) else { continue };
            withdrawal.pending.remove(&(grant, n));
            if !withdrawal.pending.iter().any(|(other, _)| *other == grant) {
                self.await_no_more(grant, id);
            }
        }
    }

    /// Ends withdrawn tasks that no lane with an open recall holds any more, and answers withdrawals that are complete.
    pub(crate) fn end_what_withdrawals_freed(&mut self, now: Tick, fx: &mut Effects) {
        let due = self.mind.withdrawals.iter().take_while(|(_, withdrawal)| withdrawal.deadline <= now);
        let due: Vec<u64> = due.map(|(id, _)| *id).collect();
        let mut ids = std::mem::take(&mut self.mind.stirred);
        ids.extend(due);
        for id in ids {
            let Some(mut withdrawal) = self.mind.withdrawals.remove(&id) else { continue };
            let before = withdrawal.pending.clone();
            let state = &self.state;
            withdrawal.pending.retain(|(grant, _)| withdrawal.deadline > now && state.grants.contains_key(grant));
            let mut free = withdrawal.open.clone();
            for (grant, _) in &withdrawal.pending {
                for range in state.grants.get(grant).into_iter().flat_map(|lane| lane.backlog()) {
                    free.remove(range);
                }
            }
            for range in free.iter() {
                withdrawal.open.remove(range);
            }
            if withdrawal.reach == Reach::Waiting {
                self.spare_started(&mut free, &before);
            }
            withdrawal.ended += self.end_now(now, &free, withdrawal.end, fx);
            // Nothing is left that an answer could tell of: its lane may be closed before it comes.
            if withdrawal.pending.is_empty() || withdrawal.open.is_empty() {
                self.answer(&withdrawal);
                before.into_iter().for_each(|(grant, _)| self.await_no_more(grant, id));
            } else {
                self.mind.withdrawals.insert(id, withdrawal);
            }
        }
    }

    /// Leaves out what has started: what is known to run, and what a lane kept when it answered. Lanes in `silent` have not.
    fn spare_started(&mut self, free: &mut RangeSet, silent: &BTreeSet<(GrantId, u32)>) {
        let mut started: Vec<OrdinalRange> = Vec::new();
        self.lanes_with(free, |InLane { grant, running, tasks, .. }| {
            if silent.iter().any(|(other, _)| *other == grant) {
                started.extend(running.filter(|task| tasks.contains(*task)).map(OrdinalRange::one));
            } else {
                started.push(tasks);
            }
        });
        started.into_iter().for_each(|tasks| _ = free.remove(tasks));
        self.spare_suspended(free);
    }

    /// Leaves out what runs on workers that are away: it counts as waiting meanwhile.
    fn spare_suspended(&self, tasks: &mut RangeSet) {
        let running = self.state.suspended.values().filter_map(|lane| lane.running);
        running.for_each(|task| _ = tasks.remove(OrdinalRange::one(task)));
    }

    fn await_no_more(&mut self, grant: GrantId, id: u64) {
        if let Some(ids) = self.mind.awaited.get_mut(&grant) {
            ids.remove(&id);
            if ids.is_empty() {
                self.mind.awaited.remove(&grant);
            }
        }
    }

    fn answer(&mut self, withdrawal: &Withdrawal) {
        let Some(token) = withdrawal.token else { return };
        let outcome = self.cancel_outcome(withdrawal.job, withdrawal.ended);
        self.actions.push_back(Action::Canceled { token, job: withdrawal.job, outcome });
    }

    pub(crate) fn cancel_outcome(&self, job: JobId, canceled: u64) -> CancelOutcome {
        let ended = self.state.jobs.get(&job).map_or(0, |job| job.counts.ended());
        CancelOutcome::Canceled { canceled, already_ended: ended.saturating_sub(canceled) }
    }
}

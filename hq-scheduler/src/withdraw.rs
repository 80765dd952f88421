//! Taking tasks back from everywhere: cancel, and the abort of a job that failed too often.

use hq_core::{CancelOutcome, Fact, GrantId, JobId, OrdinalRange, RangeSet, Span, TaskState, Tick, ToWorker};

use crate::{Action, CancelToken, Scheduler, mind::Withdrawal, state::Effects};

/// How long an answer waits for backlogs to be called back.
const PATIENCE: Span = Span::secs(2);

impl Scheduler {
    /// Ends all unfinished tasks of a job: at once what waits or is known to run, and what lies in backlogs as soon as these
    /// have answered. Says whether it is complete already, and how many tasks it ended.
    pub(crate) fn withdraw(
        &mut self,
        now: Tick,
        job_id: JobId,
        end: TaskState,
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
        let backlog = self.backlog_of(&open);
        let mut pending = std::collections::BTreeSet::new();
        let mut at_once = open.clone();
        for (grant, ranges) in backlog {
            for range in &ranges {
                at_once.remove(*range);
            }
            if let Some(n) = self.recall(grant, ranges) {
                pending.insert((grant, n));
            }
        }
        let ended = self.end_now(now, &at_once, end, fx);
        if pending.is_empty() {
            return Some(ended);
        }
        for range in at_once.iter() {
            open.remove(range);
        }
        let deadline = now.after(PATIENCE);
        self.mind.withdrawals.push(Withdrawal { job: job_id, end, token, open, pending, deadline, ended });
        None
    }

    /// Of each lane the members of `tasks` that are not known to run.
    fn backlog_of(&self, tasks: &RangeSet) -> Vec<(GrantId, Vec<OrdinalRange>)> {
        let lanes = self.mind.deep.iter().filter_map(|id| Some((*id, self.state.grants.get(id)?)));
        lanes
            .map(|(id, lane)| {
                (id, lane.backlog().into_iter().flat_map(|range| tasks.intersect(range)).collect::<Vec<_>>())
            })
            .filter(|(_, ranges)| !ranges.is_empty())
            .collect()
    }

    /// Asks a lane for tasks that have not started; the answer carries the number returned.
    pub(crate) fn recall(&mut self, grant: GrantId, tasks: Vec<OrdinalRange>) -> Option<u32> {
        let worker = self.state.grants.get(&grant)?.worker();
        let lane = self.mind.lanes.get_mut(&grant)?;
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
        if open.is_empty() {
            return 0;
        }
        let ranges: Vec<OrdinalRange> = open.iter().collect();
        let fact = match end {
            TaskState::Canceled => Fact::TasksCanceled { tasks: ranges },
            _ => Fact::TasksAborted { tasks: ranges },
        };
        self.emit(now, fact, fx);
        let held: Vec<_> = self
            .state
            .grants
            .iter()
            .flat_map(|(id, lane)| {
                let held = lane.tasks.iter().flat_map(|range| open.intersect(range)).flat_map(OrdinalRange::iter);
                held.map(|task| (*id, lane.worker(), task)).collect::<Vec<_>>()
            })
            .collect();
        for (grant, worker, task) in held {
            self.actions.push_back(Action::Send { worker, message: ToWorker::Kill { grant, task } });
        }
        open.len()
    }

    /// A recall was answered, or its lane is gone.
    pub(crate) fn recall_is_over(&mut self, grant: GrantId, n: u32) {
        for withdrawal in &mut self.mind.withdrawals {
            withdrawal.pending.remove(&(grant, n));
        }
    }

    /// Ends withdrawn tasks that no lane with an open recall holds any more, and answers withdrawals that are complete.
    pub(crate) fn end_what_withdrawals_freed(&mut self, now: Tick, fx: &mut Effects) {
        if self.mind.withdrawals.is_empty() {
            return;
        }
        for mut withdrawal in std::mem::take(&mut self.mind.withdrawals) {
            let state = &self.state;
            withdrawal.pending.retain(|(grant, _)| state.grants.contains_key(grant));
            if withdrawal.deadline <= now {
                withdrawal.pending.clear();
            }
            let mut free = withdrawal.open.clone();
            for (grant, _) in &withdrawal.pending {
                for range in state.grants.get(grant).into_iter().flat_map(|lane| lane.backlog()) {
                    free.remove(range);
                }
            }
            for range in free.iter() {
                withdrawal.open.remove(range);
            }
            withdrawal.ended += self.end_now(now, &free, withdrawal.end, fx);
            // Nothing is left that an answer could tell of: its lane may be closed before it comes.
            if withdrawal.pending.is_empty() || withdrawal.open.is_empty() {
                self.answer(&withdrawal);
            } else {
                self.mind.withdrawals.push(withdrawal);
            }
        }
    }

    fn answer(&mut self, withdrawal: &Withdrawal) {
        let Some(token) = withdrawal.token else { return };
        let outcome = self.cancel_outcome(withdrawal.job, withdrawal.ended);
        self.actions.push_back(Action::Canceled { token, job: withdrawal.job, outcome });
    }

    pub(crate) fn cancel_outcome(&self, job: JobId, canceled: u64) -> CancelOutcome {
        let total = self.state.jobs.get(&job).map_or(0, |job| job.counts.total());
        CancelOutcome::Canceled { canceled, already_ended: total.saturating_sub(canceled) }
    }
}

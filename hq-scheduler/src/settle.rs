//! What a fact sets off is decided in the same step: aborted dependents, crash limits, `max_fails`.

use std::collections::BTreeSet;

use hq_core::{Fact, JobId, Ordinal, TaskState, Tick};

use crate::{
    Scheduler,
    mind::{Reach, Withdrawal},
    state::Effects,
};

impl Scheduler {
    /// Draws all consequences of what was emitted, until there are none left, and notes what a round must look at.
    pub(crate) fn settle(&mut self, now: Tick, mut fx: Effects) {
        loop {
            let mut next = Effects::default();
            let doomed = std::mem::take(&mut fx.doomed);
            let bereft = std::mem::take(&mut fx.bereft);
            let failed = std::mem::take(&mut fx.failed);
            let barred = std::mem::take(&mut fx.barred);
            if doomed.is_empty() && bereft.is_empty() && failed.is_empty() && barred.is_empty() {
                self.end_what_withdrawals_freed(now, &mut fx);
                if fx.doomed.is_empty() && fx.barred.is_empty() {
                    break;
                }
                continue; // Tasks that were submitted since may wait for what has just been ended.
            }
            self.abort_doomed(now, &doomed, &mut next);
            for base in barred {
                self.abort_barred(now, base, &mut next);
            }
            for bereft in bereft {
                self.check_loss(now, bereft, &mut next);
            }
            for job in failed {
                self.check_max_fails(now, job, &mut next);
            }
            fx.absorb(next);
        }
        self.drop_bodies_of_ended(&fx.ended);
        self.mind.dirty_queues.extend(fx.ready);
        self.mind.dirty_workers.extend(fx.freed);
        self.mind.needs_round = true;
    }

    fn abort_doomed(&mut self, now: Tick, doomed: &[Ordinal], fx: &mut Effects) {
        let tasks = self.state.doomed_with(doomed);
        if !tasks.is_empty() {
            self.emit(now, Fact::TasksAborted { tasks: tasks.iter().collect() }, fx);
        }
    }

    /// All tasks of a submit that waits for a job which came to another end.
    fn abort_barred(&mut self, now: Tick, base: Ordinal, fx: &mut Effects) {
        let tasks = self.state.unfinished(base, self.state.range_of(base));
        if !tasks.is_empty() {
            self.emit(now, Fact::TasksAborted { tasks: tasks.iter().collect() }, fx);
        }
    }

    fn check_max_fails(&mut self, now: Tick, job_id: JobId, fx: &mut Effects) {
        let Some(job) = self.state.jobs.get(&job_id) else { return };
        let exceeded = job.spec.max_fails.is_some_and(|max| job.counts.failed > u64::from(max));
        let is_whole = |withdrawal: &Withdrawal| withdrawal.job == job_id && withdrawal.reach == Reach::All;
        let under_way = self.mind.withdrawals.values().any(is_whole);
        if exceeded && !under_way && !job.counts.is_terminated() {
            self.withdraw(now, job_id, TaskState::Aborted, Reach::All, None, fx);
        }
    }

    fn drop_bodies_of_ended(&mut self, ended: &BTreeSet<JobId>) {
        for job in ended {
            let bases = self.state.jobs.get(job).map(|job| job.submits.clone()).unwrap_or_default();
            for base in bases {
                self.drop_body(base);
            }
        }
    }
}

impl Effects {
    /// What `later` found comes on top; consequences drawn already do not return.
    fn absorb(&mut self, later: Self) {
        self.ready.extend(later.ready);
        self.freed.extend(later.freed);
        self.ended.extend(later.ended);
        self.doomed = later.doomed;
        self.barred = later.barred;
        self.bereft = later.bereft;
        self.failed = later.failed;
    }
}

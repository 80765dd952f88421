//! What the passing of time brings: idle workers, lanes past their limit, recalls without an answer.

use hq_core::{GrantId, OrdinalRange, Tick, WorkerId};

use crate::{Action, Scheduler, state::Effects};

impl Scheduler {
    /// Takes the passing of time; call it at [`poll_timeout`](Self::poll_timeout), earlier or later does no harm.
    pub fn handle_timeout(&mut self, now: Tick) {
        self.stop_idle(now);
        self.call_back_late_lanes(now);
        self.release_late(now);
        self.look_again(now);
        self.end_delays(now);
        if self.mind.withdrawals.values().next().is_some_and(|withdrawal| withdrawal.deadline <= now) {
            self.settle(now, Effects::default());
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called next.
    pub fn poll_timeout(&self) -> Option<Tick> {
        let idle = self.mind.idle.next();
        let limit = self.mind.limits.first().map(|(at, _)| *at);
        let withdrawal = self.mind.withdrawals.values().next().map(|withdrawal| withdrawal.deadline);
        let delay = self.state.records.retries.next();
        [idle, limit, withdrawal, delay, self.mind.held_until, self.mind.moves_at].into_iter().flatten().min()
    }

    fn stop_idle(&mut self, now: Tick) {
        while let Some(worker) = self.mind.idle.pop_due(now) {
            self.actions.push_back(Action::StopIdle { worker });
        }
    }

    /// Past its limit a lane starts nothing: what waits in it goes elsewhere.
    fn call_back_late_lanes(&mut self, now: Tick) {
        while let Some((at, grant)) = self.mind.limits.first().copied().filter(|(at, _)| *at <= now) {
            self.mind.limits.remove(&(at, grant));
            self.call_back_all(grant);
            self.mind.hungry.insert(grant);
            self.mind.needs_round = true;
        }
    }

    /// Recalls a lane's whole backlog, unless that is under way.
    pub(crate) fn call_back_all(&mut self, grant: GrantId) {
        let Some(lane) = self.state.grants.get(&grant) else { return };
        self.recall_once(grant, lane.backlog());
    }

    /// Recalls tasks of a lane, if there are any and no recall of it is under way.
    pub(crate) fn recall_once(&mut self, grant: GrantId, tasks: Vec<OrdinalRange>) {
        let asked = self.mind.lanes.get(&grant).is_some_and(|mind| !mind.recalls.is_empty());
        if !tasks.is_empty() && !asked {
            self.recall(grant, tasks);
        }
    }

    /// Notes who has nothing to do, from now on.
    pub(crate) fn note_idle(&mut self, now: Tick, workers: impl IntoIterator<Item = WorkerId>) {
        for worker in workers {
            match self.state.workers.get(&worker) {
                Some(known) if known.is_idle() => {
                    if let Some(timeout) = known.config.idle_timeout {
                        self.mind.idle.begin(worker, now.after(timeout));
                    }
                }
                _ => self.mind.idle.end(worker),
            }
        }
    }
}

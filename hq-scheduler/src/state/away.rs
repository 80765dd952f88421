//! Workers without a link that may come back, and what they have meanwhile.

use std::collections::BTreeSet;

use hq_core::{GrantId, KeptGrant, LossReason, Ordinal, OrdinalRange, RangeSet, TaskState, Tick, WorkerId};

use super::{Effects, Grant, State, Worker};

/// A worker that may come back. Its lanes are [suspended](State::suspended).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AwayWorker {
    pub(crate) worker: Worker,
    pub(crate) since: Tick,
}

impl State {
    /// A worker has lost its link, or its server. What runs there counts as waiting, and nobody else gets it.
    pub(super) fn go_away(&mut self, at: Tick, id: WorkerId, fx: &mut Effects) -> Result<(), String> {
        let worker = self.workers.remove(&id).ok_or_else(|| format!("worker {id} does not exist"))?;
        fx.freed.remove(&id);
        for grant_id in worker.grants.iter().copied().chain(worker.gang) {
            let is_its_own = self.grants.get(&grant_id).is_some_and(|grant| grant.worker == id);
            // Without another member a gang goes on.
            let Some(grant) = is_its_own.then(|| self.grants.remove(&grant_id)).flatten() else { continue };
            if let Some(task) = grant.running {
                self.move_task(task, TaskState::Running, TaskState::Waiting);
            }
            self.suspended.insert(grant_id, grant);
        }
        self.away.insert(id, AwayWorker { worker, since: at });
        Ok(())
    }

    /// A worker is there again with these of its lanes, and these of their tasks. The others wait, with a new instance.
    pub(super) fn come_back(&mut self, id: WorkerId, kept: &[KeptGrant], fx: &mut Effects) -> Result<(), String> {
        let away = self.away.remove(&id).ok_or_else(|| format!("worker {id} is not away"))?;
        self.workers.insert(id, away.worker);
        fx.freed.insert(id);
        for grant_id in self.suspended_of(id) {
            let kept = kept.iter().find(|kept| kept.grant == grant_id);
            let Some(mut grant) = self.suspended.remove(&grant_id) else { continue };
            let tasks: RangeSet = kept.into_iter().flat_map(|kept| &kept.tasks).copied().collect();
            let gone: Vec<Ordinal> =
                grant.tasks.iter().flat_map(OrdinalRange::iter).filter(|task| !tasks.contains(*task)).collect();
            for task in &gone {
                grant.tasks.remove(OrdinalRange::one(*task));
            }
            grant.running.take_if(|task| !tasks.contains(*task));
            if let Some(task) = grant.running {
                self.move_task(task, TaskState::Waiting, TaskState::Running);
            }
            self.grants.insert(grant_id, grant);
            if kept.is_none() {
                self.close_grant(grant_id, fx)?;
            }
            for task in gone {
                self.requeue(task, None, fx);
            }
        }
        Ok(())
    }

    /// A worker that was away does not come back.
    pub(super) fn give_up(&mut self, id: WorkerId, reason: LossReason, fx: &mut Effects) -> Option<Worker> {
        let away = self.away.remove(&id)?;
        for grant in away.worker.grants.iter().copied().chain(away.worker.gang) {
            self.lose_member(grant, id, reason, fx);
        }
        Some(away.worker)
    }

    /// A grant, suspended or not.
    pub(super) fn any_grant_mut(&mut self, id: GrantId) -> Option<&mut Grant> {
        match self.grants.get_mut(&id) {
            None => self.suspended.get_mut(&id),
            found => found,
        }
    }

    /// Whether a worker is there or may come back.
    pub(crate) fn has_worker(&self, id: WorkerId) -> bool {
        self.workers.contains_key(&id) || self.away.contains_key(&id)
    }

    /// A worker, away or not.
    pub(super) fn any_worker_mut(&mut self, id: WorkerId) -> Option<&mut Worker> {
        match self.workers.get_mut(&id) {
            None => self.away.get_mut(&id).map(|away| &mut away.worker),
            found => found,
        }
    }

    /// The lanes that wait for a worker.
    pub(crate) fn suspended_of(&self, id: WorkerId) -> BTreeSet<GrantId> {
        let held = self.workers.get(&id).or_else(|| self.away.get(&id).map(|away| &away.worker));
        let grants = held.into_iter().flat_map(|worker| worker.grants.iter().copied().chain(worker.gang));
        grants.filter(|grant| self.suspended.get(grant).is_some_and(|lane| lane.worker == id)).collect()
    }

    /// The worker that has a task and is away.
    pub(crate) fn away_with(&self, task: Ordinal) -> Option<WorkerId> {
        let holds = |grant: &&Grant| grant.tasks.contains(task);
        self.suspended.values().find(holds).map(|lane| lane.worker)
    }

    /// Changes what a task counts as, where it counts as `from`.
    fn move_task(&mut self, task: Ordinal, from: TaskState, to: TaskState) {
        let Some(mut entry) = self.records.get(task).filter(|entry| entry.state == from) else { return };
        let Some((base, _)) = self.submit_of(task) else { return };
        entry.state = to;
        self.records.set(task, entry);
        self.count(base, from, to, 1);
    }
}

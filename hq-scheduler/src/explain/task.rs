use std::collections::BTreeSet;

use hq_core::{
    Delay, Explanation, IdList, JobId, Ordinal, QueuePlace, Standing, TaskNumber, TaskState, Tick, WorkerFit,
};

use super::held::Held;
use crate::{
    Scheduler,
    policy::Rank,
    state::{Grant, QueueKey, SubmitState},
};

impl Scheduler {
    /// Why a task that waits does not run, and what of each worker it could use; nothing for tasks that have ended or
    /// do not exist.
    ///
    /// Between rounds it says what the next one would find: a task that stands as [`Standing::Due`] after a round and
    /// with no recall unanswered would be a bug. Infeasible is what no worker that is there could ever run, for want of
    /// resources, of time, of a kind of body, or of workers in one group. The cost follows the number of workers,
    /// queues and lanes, not the number of tasks.
    pub fn explain(&self, now: Tick, task: Ordinal) -> Option<Explanation> {
        let state = self.state.task_state(task).filter(|state| !state.is_end())?;
        let (base, submit) = self.state.submit_of(task)?;
        let index = task.0 - base.0;
        let (dependencies, unmet) = self.dependencies(submit, index);
        let (awaited, jobs) = self.awaited_jobs(submit);
        let dependencies = dependencies + awaited;
        let key = submit.key(index);
        let waits = self.state.ready.get(&key).is_some_and(|set| set.contains(task));
        let rank = self.rank(now, key).filter(|_| waits);
        let mut held = Held::new(self, now);
        let workers = if self.state.classes.get(key.class).is_gang() {
            self.fit_gang(now, key, rank, &mut held)
        } else {
            self.fit_workers(now, key, rank, &mut held)
        };
        let delay = self.delay(task);
        let standing = match state {
            TaskState::Running => Standing::Running,
            _ if !unmet.is_empty() || !jobs.is_empty() => Standing::Dependencies,
            _ if delay.is_some() => Standing::Delayed,
            _ if !waits => self.standing_in_lane(task),
            _ => standing_in_queue(&workers),
        };
        let delay = delay.map(|delay| Delay {
            left: delay.until.since(now),
            retries: delay.retries,
            error: delay.error.to_owned(),
        });
        let queue = rank.map(|rank| self.queue_place(now, task, key, rank));
        Some(Explanation { standing, dependencies, unmet, jobs, delay, queue, blockers: held.into_blockers(), workers })
    }

    /// How many tasks it depends on, and those of them that have not ended.
    fn dependencies(&self, submit: &SubmitState, index: u64) -> (u64, IdList) {
        let all: BTreeSet<TaskNumber> = submit.submit.deps.of(index).map(|(on, _)| on).collect();
        let is_open = |on: &&TaskNumber| {
            let found = self.state.find(submit.job, **on).and_then(|task| self.state.task_state(task));
            found.is_some_and(|state| !state.is_end())
        };
        let open = all.iter().filter(is_open).map(|on| on.0);
        (all.len() as u64, IdList::from_numbers(open).unwrap_or_default())
    }

    /// How many jobs have to be completed first, and those of them that are not.
    fn awaited_jobs(&self, submit: &SubmitState) -> (u64, IdList) {
        let all: BTreeSet<u32> = submit.submit.after.iter().map(|dep| dep.job.0).collect();
        let is_open = |job: &u32| self.state.jobs.get(&JobId(*job)).is_some_and(|known| !known.is_completed());
        let open = all.iter().copied().filter(is_open);
        (all.len() as u64, IdList::from_numbers(open).unwrap_or_default())
    }

    /// A task that waits in no queue is in a lane, or is being taken back from one.
    fn standing_in_lane(&self, task: Ordinal) -> Standing {
        if self.mind.withdrawals.values().any(|withdrawal| withdrawal.open.contains(task)) {
            return Standing::Withdrawn;
        }
        let Some((id, lane)) = self.state.grants.iter().find(|(_, lane)| lane.tasks.contains(task)) else {
            return self.state.away_with(task).map_or(Standing::Due, |worker| Standing::Suspended { worker });
        };
        let is_called_back = self.mind.lanes.get(&id).is_some_and(|lane| !lane.recalls.is_empty());
        Standing::Backlog { worker: lane.worker, ahead: ahead_in(lane, task), is_called_back }
    }

    fn queue_place(&self, now: Tick, task: Ordinal, key: QueueKey, rank: Rank) -> QueuePlace {
        let own = self.state.ready.get(&key).into_iter().flat_map(|set| set.iter());
        let before = own.take_while(|range| range.start < task).map(|range| range.end().min(task).0 - range.start.0);
        let better = self.state.ready.iter().filter(|(other, _)| self.rank(now, **other).is_some_and(|r| r < rank));
        QueuePlace {
            order: self.policies.order().name().to_owned(),
            priority: key.priority(),
            rank,
            ahead: before.sum(),
            better: better.map(|(_, set)| set.len()).sum(),
        }
    }
}

fn standing_in_queue(workers: &[WorkerFit]) -> Standing {
    // A worker of a group that is too small for a gang may be held for others as well.
    let able = || workers.iter().filter(|worker| worker.could_ever());
    let is_held = |worker: &WorkerFit| matches!(worker.obstacle, Some(hq_core::Obstacle::Held { .. }));
    if able().next().is_none() {
        Standing::Infeasible
    } else if able().any(WorkerFit::fits_now) {
        Standing::Due
    } else if able().any(is_held) {
        Standing::HeldBack
    } else {
        Standing::NoRoom
    }
}

/// Tasks of a lane before this one.
fn ahead_in(lane: &Grant, task: Ordinal) -> u64 {
    let mut ahead = 0;
    for range in lane.tasks.iter() {
        if range.contains(task) {
            return ahead + task.0 - range.start.0;
        }
        ahead += range.len;
    }
    ahead
}

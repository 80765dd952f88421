//! The questions of a round, asked without one.

use hq_core::{Tick, WorkerId};

use super::Blockers;
use crate::{Scheduler, policy::Rank, pool::Pools, state::QueueKey};

impl Scheduler {
    /// All queues as blocked as a round leaves those that it does not place.
    pub(crate) fn all_blocked(&self, now: Tick) -> Blockers {
        let mut ranked: Vec<(Rank, QueueKey)> =
            self.state.ready.keys().filter_map(|key| Some((self.rank(now, *key)?, *key))).collect();
        ranked.sort_unstable();
        let mut blockers = Blockers::default();
        for (rank, key) in ranked {
            if !self.block_overdue(&mut blockers, key, rank) {
                self.block(now, &mut blockers, key, rank);
            }
        }
        blockers
    }

    /// The queue for whose sake one more of the queue `own` would not be placed on a worker with room for it.
    pub(crate) fn who_keeps_off(
        &self,
        now: Tick,
        blockers: &mut Blockers,
        rank: Rank,
        own: QueueKey,
        worker: WorkerId,
        pools: &Pools,
    ) -> Option<QueueKey> {
        blockers.in_the_way.clear();
        let rank = self.rank_to_others(own, rank);
        if self.may_pass(now, blockers, rank, own, worker, pools) {
            return None;
        }
        self.first_better(now, blockers, rank)
    }

    /// The queue for whose sake a gang of the queue `own` could not have the worker.
    pub(crate) fn who_keeps_gangs_off(
        &self,
        now: Tick,
        blockers: &mut Blockers,
        rank: Rank,
        own: QueueKey,
        worker: WorkerId,
    ) -> Option<QueueKey> {
        blockers.in_the_way.clear();
        let rank = self.rank_to_others(own, rank);
        if self.is_held(now, blockers, rank, own, worker) { self.first_better(now, blockers, rank) } else { None }
    }

    /// Of those that are in the way the first that comes before `rank`: others have reservations there, too.
    fn first_better(&self, now: Tick, blockers: &Blockers, rank: Rank) -> Option<QueueKey> {
        let is_better =
            |key: &QueueKey| self.rank(now, *key).is_some_and(|other| self.rank_to_others(*key, other) < rank);
        blockers.in_the_way.iter().copied().find(is_better)
    }
}

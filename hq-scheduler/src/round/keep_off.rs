//! The questions of a round, asked without one.

use hq_core::Tick;

use super::blocked::{Asker, Blockers};
use crate::{Scheduler, policy::Rank, pool::Pools, state::QueueKey};

impl Scheduler {
    /// All queues as blocked as a round leaves those that it does not place.
    pub(crate) fn all_blocked(&self, now: Tick) -> Blockers {
        let mut ranked: Vec<(Rank, QueueKey)> =
            self.state.ready.keys().filter_map(|key| Some((self.rank(now, *key)?, *key))).collect();
        ranked.sort_unstable();
        let mut blockers = Blockers::default();
        for (rank, key) in ranked {
            if !self.block_overdue(now, &mut blockers, key, rank)
                && let Some(view) = self.queue_view(now, key)
            {
                self.block(&mut blockers, key, rank, &view);
            }
        }
        blockers
    }

    /// The queue for whose sake one more of a queue would not be placed on a worker with room for it.
    pub(crate) fn who_keeps_off(&self, asker: Asker, blockers: &mut Blockers, pools: &Pools) -> Option<QueueKey> {
        blockers.in_the_way.clear();
        let asker = Asker { rank: self.rank_to_others(asker.queue, asker.rank), ..asker };
        if self.may_pass(asker, blockers, pools) { None } else { self.first_better(asker, blockers) }
    }

    /// The queue for whose sake a gang could not have the worker.
    pub(crate) fn who_keeps_gangs_off(&self, asker: Asker, blockers: &mut Blockers) -> Option<QueueKey> {
        blockers.in_the_way.clear();
        let asker = Asker { rank: self.rank_to_others(asker.queue, asker.rank), ..asker };
        if self.is_held(asker, blockers) { self.first_better(asker, blockers) } else { None }
    }

    /// Of those that are in the way the first that comes before who asks: others have reservations there, too.
    fn first_better(&self, asker: Asker, blockers: &Blockers) -> Option<QueueKey> {
        let is_better = |key: &QueueKey| {
            self.rank(asker.now, *key).is_some_and(|other| self.rank_to_others(*key, other) < asker.rank)
        };
        blockers.in_the_way.iter().copied().find(is_better)
    }
}

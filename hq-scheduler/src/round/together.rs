//! Few tasks of several levels: if all of them have room, no one overtakes another, and they are placed as one level. Level by level,
//! what is small and first could take the only place of what is large and second.

use hq_core::Tick;

use super::{blocked::Blockers, reach::Reach};
use crate::{
    Scheduler,
    policy::{PassRule, Rank},
    state::QueueKey,
};

/// So many tasks at most are tried together.
const TASKS_MAX: u64 = 16;

impl Scheduler {
    /// Whether `tasks` that wait may be placed as one level, as far as the policy goes: where the order only asks that nobody
    /// takes what a better one needs, and not that it comes later.
    pub(crate) fn goes_together(&self, tasks: u64) -> bool {
        let order = self.policies.order();
        tasks <= TASKS_MAX
            && order.pass_rule() == PassRule::Gap
            && order.keeps_ranks()
            && self.policies.placement().fills_workers()
    }

    /// Starts all that waits, if that is little and all of it has room now.
    pub(super) fn place_together(&mut self, now: Tick, reach: &mut Reach<'_>, blockers: &mut Blockers) {
        let Some(ranked) = self.few_of_several_levels(now) else { return };
        let Some((last, _)) = ranked.last().copied() else { return };
        if !ranked.iter().all(|(_, key)| self.finds_room(reach, key.class, reach.fresh.contains(key))) {
            return;
        }
        let keys: Vec<QueueKey> = ranked.iter().map(|(_, key)| *key).collect();
        let waiting: Vec<u64> = keys.iter().map(|key| self.waiting_in(*key)).collect();
        let slots = self.plan_level(now, &keys, last, &waiting, reach, blockers);
        if slots.iter().zip(&waiting).any(|(slots, n)| (slots.len() as u64) < *n) {
            return;
        }
        for (((rank, key), slots), n) in ranked.into_iter().zip(slots).zip(waiting) {
            self.open_lanes(now, key, slots, n);
            self.note_started(rank, n);
        }
        self.rank_moved(now);
        self.refresh_rooms(Some(reach));
    }

    /// All queues that wait, the best first, if these are of several levels and hold few tasks, none of them a gang.
    fn few_of_several_levels(&self, now: Tick) -> Option<Vec<(Rank, QueueKey)>> {
        let ready = &self.state.ready;
        // Each queue that waits has a task.
        if ready.len() < 2 || !self.goes_together(ready.len() as u64) {
            return None;
        }
        if !self.goes_together(ready.values().map(|set| set.len()).fold(0, u64::saturating_add)) {
            return None;
        }
        let all = |key: &QueueKey| {
            !self.state.classes.get(key.class).is_gang() && self.budget(now, *key) == self.waiting_in(*key)
        };
        let mut ranked = Vec::with_capacity(ready.len());
        for key in ready.keys() {
            ranked.push((self.mind.ranks.of(*key).filter(|_| all(key))?, *key));
        }
        ranked.sort_unstable_by_key(|(rank, key)| (*rank, self.head_of(*key), *key));
        let (first, last) = (ranked.first()?.0, ranked.last()?.0);
        (first < last).then_some(ranked)
    }

    fn waiting_in(&self, key: QueueKey) -> u64 {
        self.state.ready.get(&key).map_or(0, |set| set.len())
    }
}

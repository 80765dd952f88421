//! Few tasks of several levels: if all of them have room, no one overtakes another, and they are placed as one level. Level by level,
//! what is small and first could take the only place of what is large and second.

use hq_core::Tick;

use super::{blocked::Blockers, reach::Reach};
use crate::{Scheduler, policy::Rank, state::QueueKey};

/// So many tasks at most are tried together.
const TASKS_MAX: u64 = 16;

impl Scheduler {
    /// Starts all that waits, if that is little and all of it has room now.
    pub(super) fn place_together(&mut self, now: Tick, reach: &mut Reach<'_>, blockers: &mut Blockers) {
        if self.state.ready.len() as u64 > TASKS_MAX
            || !self.policies.placement().fills_workers()
            || !self.policies.order().keeps_ranks()
        {
            return;
        }
        let mut ranked: Vec<(Rank, QueueKey)> =
            self.state.ready.keys().filter_map(|key| Some((self.mind.ranks.of(*key)?, *key))).collect();
        ranked.sort_unstable_by_key(|(rank, key)| (*rank, self.head_of(*key), *key));
        let (Some((first, _)), Some((last, _))) = (ranked.first(), ranked.last()) else { return };
        let (several, last) = (first < last, *last);
        let keys: Vec<QueueKey> = ranked.iter().map(|(_, key)| *key).collect();
        let waiting: Vec<u64> = keys.iter().map(|key| self.state.ready.get(key).map_or(0, |set| set.len())).collect();
        let single = keys.iter().all(|key| !self.state.classes.get(key.class).is_gang());
        if !several || !single || waiting.iter().fold(0, |sum: u64, n| sum.saturating_add(*n)) > TASKS_MAX {
            return;
        }
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
}

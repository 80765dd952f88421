//! All combinations of tasks on one worker, where these are few.

use super::fill::{Way, take};
use crate::pool::Pools;

/// So many combinations are tried at most.
const SETS_MAX: u64 = 512;

/// A combination.
pub(super) struct Set {
    /// How many of each way.
    pub(super) counts: Vec<u64>,
    /// What they are worth.
    pub(super) value: u64,
}

/// All combinations of at most `waiting[class]` tasks of each class and `most` in all, each task only while `may` allows one more
/// of its class; those with most of the earlier ways first. Nothing where there are too many, by how many of each way `fits`.
pub(super) fn all_sets(
    pools: &Pools,
    ways: &[Way<'_>],
    fits: impl Iterator<Item = u64>,
    waiting: &[u64],
    most: u64,
    may: &dyn Fn(usize, &Pools) -> bool,
) -> Option<Vec<Set>> {
    let mut sets = 1u64;
    for fits in fits {
        sets = sets.saturating_mul(fits + 1);
        if sets > SETS_MAX {
            return None;
        }
    }
    let mut search = Search { ways, waiting: waiting.to_vec(), may, sets: Vec::with_capacity(sets as usize) };
    search.go(pools, most, 0, &mut vec![]);
    Some(search.sets)
}

struct Search<'a> {
    ways: &'a [Way<'a>],
    waiting: Vec<u64>,
    may: &'a dyn Fn(usize, &Pools) -> bool,
    sets: Vec<Set>,
}

impl Search<'_> {
    fn go(&mut self, pools: &Pools, most: u64, value: u64, counts: &mut Vec<u64>) {
        let Some(way) = self.ways.get(counts.len()).copied() else {
            self.sets.push(Set { counts: counts.clone(), value });
            return;
        };
        // The states after 0, 1, 2 … more of this way, as far as it goes.
        let mut states = vec![pools.clone()];
        let room = self.waiting[way.class].min(most);
        while (states.len() as u64) <= room {
            let Some(last) = states.last().filter(|last| (self.may)(way.class, last)) else { break };
            let mut next = last.clone();
            if take(&mut next, &way).is_none() {
                break;
            }
            states.push(next);
        }
        for (n, state) in states.iter().enumerate().rev() {
            let n = n as u64;
            self.waiting[way.class] -= n;
            counts.push(n);
            self.go(state, most - n, value.saturating_add(way.value.saturating_mul(n)), counts);
            counts.pop();
            self.waiting[way.class] += n;
        }
    }
}

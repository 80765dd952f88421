//! A good combination where there are too many to try them all: a *ratio greedy*, then exchanges.
//!
//! Greedy: again and again the way of best value per weighted fraction of what is left, a quarter of its fit at a time. Weights are
//! learnt: what was used up weighs more in the next try, what was left over less. Exchanges: one or two of a way give way to
//! another, and the room that is left is filled anew, as long as that gains.

use crate::pool::{Need, Room};

/// A way to start a task, in bare numbers.
pub(super) struct Item {
    /// Ways of one class share its waiting tasks.
    pub(super) class: usize,
    pub(super) need: Need,
    pub(super) value: u64,
}

/// So often all is filled anew to learn weights.
const LEARN: u32 = 16;
/// So much is looked at for one combination, then what was found counts.
const LOOKS_MAX: u64 = 60_000;
/// The same for all workers of a level together.
const LEVEL_LOOKS_MAX: u64 = 5_000_000;
/// All of a resource, as a weight's measure.
const WHOLE: u64 = 1024;

/// How many ways may still be looked at, and tasks put in on trial: both count alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct Looks {
    left: u64,
    used: u64,
    /// For one combination.
    portion: u64,
}

impl Looks {
    /// For all workers of a level.
    pub(super) const fn for_level() -> Self {
        Self { left: LEVEL_LOOKS_MAX, used: 0, portion: LOOKS_MAX }
    }

    /// So many were used; what was begun may go a little beyond what was left.
    pub(super) const fn used(&self) -> u64 {
        self.used
    }

    /// So many combinations are to be found yet, or more.
    pub(super) fn divide(&mut self, combinations: u64) {
        self.portion = (self.left / combinations.max(1)).min(LOOKS_MAX);
    }

    pub(super) const fn is_over(&self) -> bool {
        self.left == 0
    }

    pub(super) const fn spend(&mut self, n: u64) {
        self.left = self.left.saturating_sub(n);
        self.used = self.used.saturating_add(n);
    }
}

/// How many of each item; at most `waiting[class]` of each class and `most` in all. When `all_looks` is over, what one plain
/// fill gives.
pub(super) fn combine(room: &Room, items: &[Item], waiting: &[u64], most: u64, all_looks: &mut Looks) -> Vec<u64> {
    let mut looks = Looks { left: all_looks.portion.min(all_looks.left), used: 0, portion: 0 };
    let empty =
        Combination { items, room: room.clone(), left: waiting.to_vec(), most, counts: vec![0; items.len()], value: 0 };
    let mut weights = vec![WHOLE; room.amounts().len()];
    let (mut best, mut best_weights) = (empty.clone(), weights.clone());
    for turn in 0..LEARN {
        if turn > 0 && looks.is_over() {
            break;
        }
        let mut next = empty.clone();
        next.complete(&weights, &mut looks);
        let rest: Vec<u64> =
            next.room.amounts().iter().zip(room.amounts()).map(|(left, of)| share(*left, of)).collect();
        if next.value > best.value {
            best = next;
            best_weights.clone_from(&weights);
        }
        let mean = rest.iter().sum::<u64>() / (rest.len() as u64).max(1);
        for (weight, rest) in weights.iter_mut().zip(rest) {
            *weight = (*weight * (WHOLE + 2 * mean) / (WHOLE + 2 * rest)).clamp(WHOLE / 64, WHOLE * WHOLE);
        }
    }
    while best.exchange(&empty, &best_weights, &mut looks) {}
    all_looks.spend(looks.used);
    best.counts
}

fn share(part: u64, of: u64) -> u64 {
    u64::try_from(u128::from(part) * u128::from(WHOLE) / u128::from(of.max(1))).unwrap_or(WHOLE)
}

#[derive(Clone)]
struct Combination<'a> {
    items: &'a [Item],
    room: Room,
    left: Vec<u64>,
    most: u64,
    counts: Vec<u64>,
    value: u64,
}

impl Combination<'_> {
    fn may_add(&self, i: usize) -> bool {
        self.most > 0 && self.left[self.items[i].class] > 0 && self.room.fits(&self.items[i].need)
    }

    /// Adds up to `n` of an item; says how many.
    fn add(&mut self, i: usize, n: u64, looks: &mut Looks) -> u64 {
        let item = &self.items[i];
        let room = n.min(self.most).min(self.left[item.class]);
        let added = (0..room).take_while(|_| self.room.take(&item.need)).count() as u64;
        looks.spend(added);
        self.counts[i] += added;
        self.left[item.class] -= added;
        self.most -= added;
        self.value = self.value.saturating_add(item.value.saturating_mul(added));
        added
    }

    /// Fills what is left; when looks are over, each way as far as it goes.
    fn complete(&mut self, weights: &[u64], looks: &mut Looks) {
        let mut open: Vec<usize> = (0..self.items.len()).collect();
        loop {
            looks.spend(open.len() as u64);
            // It only gets tighter.
            open.retain(|i| self.may_add(*i));
            let ratio = |i: &usize| {
                let item = &self.items[*i];
                let share = self.room.weighted_share(&item.need, weights).max(1);
                std::cmp::Reverse((u128::from(item.value) << 64) / u128::from(share))
            };
            if looks.is_over() {
                open.sort_by_cached_key(ratio);
                for i in open {
                    self.add(i, u64::MAX, looks);
                }
                return;
            }
            let Some(i) = open.iter().copied().min_by_key(ratio) else { return };
            let fit = self.room.count(&self.items[i].need, self.left[self.items[i].class].min(self.most));
            if self.add(i, fit.div_ceil(4).max(1), looks) == 0 {
                return;
            }
        }
    }

    /// Puts some other item in the place of one or two; says whether that gained, and there may be more to gain.
    fn exchange(&mut self, empty: &Self, weights: &[u64], looks: &mut Looks) -> bool {
        let mut gained = false;
        for i in 0..self.items.len() {
            for n in 1..=2 {
                if looks.is_over() {
                    return false;
                }
                if self.counts[i] < n {
                    break;
                }
                let mut base = empty.clone();
                for (j, count) in self.counts.iter().enumerate() {
                    base.add(j, if i == j { count - n } else { *count }, looks);
                }
                let mut best: Option<Self> = None;
                for j in (0..self.items.len()).filter(|j| *j != i && base.may_add(*j)) {
                    if looks.is_over() {
                        break;
                    }
                    let mut other = base.clone();
                    other.add(j, n, looks);
                    other.complete(weights, looks);
                    if other.value > best.as_ref().map_or(self.value, |best| best.value) {
                        best = Some(other);
                    }
                }
                if let Some(best) = best {
                    *self = best;
                    gained = true;
                }
            }
        }
        gained
    }
}

#[cfg(test)]
mod tests {
    use hq_core::{Request, ResourceEntry, WorkerResources};

    use super::*;
    use crate::pool::Pools;

    #[test]
    fn looks_are_bounded_for_all_together() {
        let pools = Pools::new(&WorkerResources::cpus(40).unwrap());
        let item = |class: usize| {
            let entry = ResourceEntry::parse(&format!("cpus=0.010{class}")).unwrap();
            Item { class, need: pools.need(&Request::new(vec![entry]).unwrap()).unwrap(), value: 100 + class as u64 }
        };
        let items = [item(0), item(1)];
        let mut looks = Looks { left: 150_000, ..Looks::for_level() };
        let mut combined = || {
            let before = looks.used();
            let counts = combine(&pools.room(), &items, &[100_000; 2], 100_000, &mut looks);
            (counts.iter().sum::<u64>(), looks.used() - before, looks.is_over())
        };
        let (all, first, over) = combined();
        assert!(all > 3_900 && !over && (10_000..LOOKS_MAX + 20_000).contains(&first), "{all} {first}");
        while !combined().2 {}
        let (all, plain, _) = combined();
        assert!(all > 3_900 && plain < 5_000, "{all} {plain}");
    }
}

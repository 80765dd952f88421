//! A good combination where there are too many to try them all: a *ratio greedy*, then exchanges.
//!
//! Greedy: again and again the way of best value per weighted fraction of what is left, a quarter of its fit at a time. Weights are
//! learnt: what was used up weighs more in the next try, what was left over less. Exchanges, from each of the tries: one or two
//! tasks give way to others, as long as that gains.

use super::{
    looks::{LOOKS_MAX, Looks},
    pack::{Item, Offer, Pack},
};
use crate::pool::Room;

/// So often all is filled anew to learn weights.
const LEARN: u32 = 16;
/// All of a resource, as a weight's measure.
const WHOLE: u64 = 1024;

/// How many of each item; at most `waiting[class]` of each class and `most` in all. When `looks` are over, what one plain
/// fill gives.
pub(super) fn combine(room: &Room, items: &[Item], waiting: &[u64], most: u64, looks: &mut Looks) -> Vec<u64> {
    looks.part(LOOKS_MAX, |looks| combine_within(room, items, waiting, most, looks))
}

fn combine_within(room: &Room, items: &[Item], waiting: &[u64], most: u64, looks: &mut Looks) -> Vec<u64> {
    let offer = Offer::new(items, room, |_| 0);
    let mut weights = Weights::new(room);
    let bound = offer.bound();
    let mut tries: Vec<(Pack, Vec<u64>)> = Vec::new();
    for turn in 0..LEARN {
        if turn > 0 && looks.is_over() {
            break;
        }
        let (mut next, mut left) = (offer.empty(most), waiting.to_vec());
        next.fill(&offer, &mut left, weights.as_slice(), looks);
        if next.gain >= bound {
            return next.counts; // Nothing that comes later is better.
        }
        weights.learn(room, &next.room);
        if tries.iter().all(|(known, _)| known.counts != next.counts) {
            tries.push((next, left));
        }
    }
    // The best first: exchanges do not lead everywhere.
    tries.sort_by_key(|(pack, _)| std::cmp::Reverse(pack.gain));
    let exchanged = tries.into_iter().map(|(mut pack, mut left)| {
        pack.exchange(&offer, &mut left, looks);
        pack
    });
    let best = exchanged.reduce(|best, next| if next.gain > best.gain { next } else { best });
    best.map(|best| best.counts).unwrap_or_default()
}

/// How scarce the resources of a worker are, against one another.
pub(super) struct Weights(Vec<u64>);

impl Weights {
    pub(super) fn new(room: &Room) -> Self {
        Self(vec![WHOLE; room.amounts().len()])
    }

    pub(super) fn as_slice(&self) -> &[u64] {
        &self.0
    }

    /// What was used up more than others weighs more from now on.
    pub(super) fn learn(&mut self, room: &Room, rest: &Room) {
        let rest: Vec<u64> = rest.amounts().iter().zip(room.amounts()).map(|(left, of)| share(*left, of)).collect();
        let mean = rest.iter().sum::<u64>() / (rest.len() as u64).max(1);
        for (weight, rest) in self.0.iter_mut().zip(rest) {
            *weight = (*weight * (WHOLE + 2 * mean) / (WHOLE + 2 * rest)).clamp(WHOLE / 64, WHOLE * WHOLE);
        }
    }
}

fn share(part: u64, of: u64) -> u64 {
    u64::try_from(u128::from(part) * u128::from(WHOLE) / u128::from(of.max(1))).unwrap_or(WHOLE)
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
        let mut looks = Looks::for_level();
        looks.spend(looks.left() - 150_000);
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

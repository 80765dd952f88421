//! The tasks of one worker in bare numbers: filled by ratio, bettered by exchanges.

use super::looks::Looks;
use crate::pool::{Need, Room};

/// So many others at most are tried first in a place that was given up.
const FIRST_MAX: usize = 4;

/// A way to start a task, in bare numbers.
pub(super) struct Item {
    /// Ways of one class share its waiting tasks.
    pub(super) class: usize,
    pub(super) need: Need,
    pub(super) value: u64,
}

/// What could start on a worker, at what it gains who chooses.
pub(super) struct Offer<'a> {
    pub(super) items: &'a [Item],
    /// All that is free.
    room: &'a Room,
    /// Of each item.
    gains: Vec<u64>,
    /// Items that are worth their price, the best first.
    pub(super) order: Vec<usize>,
}

impl<'a> Offer<'a> {
    /// Of each class at a price, or at none.
    pub(super) fn new(items: &'a [Item], room: &'a Room, price: impl Fn(usize) -> u64) -> Self {
        let gains: Vec<u64> = items.iter().map(|item| item.value.saturating_sub(price(item.class))).collect();
        let is_worth_it = |i: &usize| gains[*i] > 0 || price(items[*i].class) == 0;
        let mut order: Vec<usize> = (0..items.len()).filter(is_worth_it).collect();
        order.sort_by_key(|i| std::cmp::Reverse(gains[*i]));
        Self { items, room, gains, order }
    }

    /// No choice of them gains more: all there is of a resource, at the best gain for what an item takes of it.
    pub(super) fn bound(&self) -> u64 {
        let of_resource = |(at, amount): (usize, u64)| {
            let mut best = (0, 1);
            for (item, gain) in self.items.iter().zip(&self.gains).filter(|(_, gain)| **gain > 0) {
                let (gain, need) = (u128::from(*gain), u128::from(item.need.of(at)));
                if need == 0 {
                    return u64::MAX;
                }
                if gain * best.1 > best.0 * need {
                    best = (gain, need);
                }
            }
            u64::try_from(best.0 * u128::from(amount) / best.1).unwrap_or(u64::MAX)
        };
        self.room.amounts().into_iter().enumerate().map(of_resource).min().unwrap_or(u64::MAX)
    }

    /// With nothing on the worker; at most so many tasks.
    pub(super) fn empty(&self, most: u64) -> Pack {
        Pack { room: self.room.clone(), counts: vec![0; self.items.len()], most, gain: 0 }
    }
}

/// What was put on a worker.
#[derive(Clone)]
pub(super) struct Pack {
    /// What is left.
    pub(super) room: Room,
    /// Of each item.
    pub(super) counts: Vec<u64>,
    /// So many tasks more at most.
    most: u64,
    /// What it gains.
    pub(super) gain: u64,
}

impl Pack {
    pub(super) fn fits(&self, item: &Item) -> bool {
        self.most > 0 && self.room.fits(&item.need)
    }

    /// Which items are on the worker.
    pub(super) fn used(&self) -> Vec<usize> {
        (0..self.counts.len()).filter(|i| self.counts[*i] > 0).collect()
    }

    /// Adds up to `n` of an item; says how many.
    pub(super) fn add(&mut self, offer: &Offer<'_>, i: usize, n: u64) -> u64 {
        let need = &offer.items[i].need;
        let added = (0..n.min(self.most)).take_while(|_| self.room.take(need)).count() as u64;
        self.counts[i] += added;
        self.most -= added;
        self.gain = self.gain.saturating_add(offer.gains[i].saturating_mul(added));
        added
    }

    /// Counts what it gains anew.
    pub(super) fn appraise(&mut self, offer: &Offer<'_>) {
        let gains = self.counts.iter().zip(&offer.gains).map(|(n, gain)| gain.saturating_mul(*n));
        self.gain = gains.fold(0, u64::saturating_add);
    }

    /// The same less these items; nothing where that cannot be packed.
    pub(super) fn without(&self, offer: &Offer<'_>, given_up: &[usize], looks: &mut Looks) -> Option<Self> {
        let placed: u64 = self.counts.iter().sum();
        let mut less = offer.empty(self.most + placed);
        looks.spend(placed);
        for i in self.used() {
            let n = self.counts[i] - given_up.iter().filter(|other| **other == i).count() as u64;
            if less.add(offer, i, n) < n {
                return None;
            }
        }
        Some(less)
    }

    /// Adds again and again the item that gains most for its weighted share of what is left, a quarter of its fit at a time;
    /// counts `left` down. When looks are over, each item as far as it goes.
    pub(super) fn fill(&mut self, offer: &Offer<'_>, left: &mut [u64], weights: &[u64], looks: &mut Looks) {
        let mut open = offer.order.clone();
        // In order of items ties go to earlier ones.
        open.sort_unstable();
        loop {
            looks.spend(open.len() as u64);
            // It only gets tighter.
            open.retain(|i| left[offer.items[*i].class] > 0 && self.fits(&offer.items[*i]));
            let factors = self.room.factors(weights);
            let ratio = |i: &usize| (u128::from(offer.gains[*i]), offer.items[*i].need.share(&factors));
            let order = |a: &(u128, u128), b: &(u128, u128)| (b.0.saturating_mul(a.1)).cmp(&a.0.saturating_mul(b.1));
            if looks.is_over() {
                open.sort_by(|a, b| order(&ratio(a), &ratio(b)));
                for i in open {
                    let added = self.add(offer, i, left[offer.items[i].class]);
                    left[offer.items[i].class] -= added;
                    looks.spend(added);
                }
                return;
            }
            let best = open.iter().map(|i| (ratio(i), *i)).min_by(|(a, _), (b, _)| order(a, b));
            let Some((_, i)) = best else { return };
            let item = &offer.items[i];
            let fit = self.room.count(&item.need, left[item.class].min(self.most));
            let added = self.add(offer, i, fit.div_ceil(4).max(1).min(left[item.class]));
            left[item.class] -= added;
            looks.spend(added);
            if added == 0 {
                return;
            }
        }
    }

    /// Gives up none, one or two items for others, again and again while that gains; says whether it did.
    pub(super) fn exchange(&mut self, offer: &Offer<'_>, left: &mut [u64], looks: &mut Looks) -> bool {
        let mut gained = false;
        let bound = offer.bound();
        while self.gain < bound
            && let Some(better) = self.better(offer, left, looks)
        {
            // Another way of the same class may have given its task up.
            offer.items.iter().zip(&self.counts).for_each(|(item, n)| left[item.class] += n);
            offer.items.iter().zip(&better.counts).for_each(|(item, n)| left[item.class] -= n);
            *self = better;
            gained = true;
        }
        gained
    }

    /// The first exchange that gains.
    fn better(&self, offer: &Offer<'_>, left: &[u64], looks: &mut Looks) -> Option<Self> {
        let used = self.used();
        let pair = |a: usize| used[a..].iter().map(move |b| (a, *b));
        let pairs = (0..used.len()).flat_map(pair).filter(|(a, b)| used[*a] != *b || self.counts[*b] > 1);
        let ones = used.iter().map(|i| vec![*i]);
        let all = std::iter::once(vec![]).chain(ones).chain(pairs.map(|(a, b)| vec![used[a], b]));
        for given_up in all {
            if looks.is_over() {
                return None;
            }
            let Some(base) = self.without(offer, &given_up, looks) else { continue };
            let mut left = left.to_vec();
            given_up.iter().for_each(|i| left[offer.items[*i].class] += 1);
            let best = base.filled(offer, &left, looks)?;
            if best.gain > self.gain {
                return Some(best);
            }
        }
        None
    }

    /// Filled with what gains most, starting with one or another.
    fn filled(&self, offer: &Offer<'_>, left: &[u64], looks: &mut Looks) -> Option<Self> {
        looks.spend(offer.order.len() as u64);
        let open = |i: &usize| left[offer.items[*i].class] > 0 && self.fits(&offer.items[*i]);
        let open: Vec<usize> = offer.order.iter().copied().filter(open).collect();
        let from = |first: usize| {
            let (mut next, mut left) = (self.clone(), left.to_vec());
            looks.spend((open.len() - first) as u64);
            for i in &open[first..] {
                let class = offer.items[*i].class;
                let added = next.add(offer, *i, left[class]);
                left[class] -= added;
                looks.spend(added);
            }
            next
        };
        let tries = (0..open.len().clamp(1, FIRST_MAX)).map(from);
        tries.reduce(|best, next| if next.gain > best.gain { next } else { best })
    }
}

#[cfg(test)]
mod tests {
    use hq_core::{Request, ResourceDef, ResourceEntry, Rng, WorkerResources};

    use super::*;
    use crate::pool::Pools;

    /// Of random tasks, fractions included, none can be packed that gain more; and of cpus alone it is what a full worker gains.
    #[test]
    fn no_pack_gains_more_than_the_bound() {
        let mut rng = Rng::new(7);
        let defs = vec![ResourceDef::parse_cpus("16").unwrap(), ResourceDef::parse("gpus=[0,1,2]").unwrap()];
        let pools = Pools::new(&WorkerResources::new(defs, vec![]).unwrap());
        let (room, mut reached) = (pools.room(), 0);
        let tries = if cfg!(miri) { 3 } else { 300 };
        for _ in 0..tries {
            let mut items = Vec::new();
            for class in 0..rng.range(1, 6) as usize {
                let mut entries = vec![ResourceEntry::parse(&format!("cpus={}", rng.range(1, 6))).unwrap()];
                if rng.range(0, 3) == 0 {
                    entries.push(ResourceEntry::parse(&format!("gpus=0.{}", rng.range(1, 10))).unwrap());
                }
                let need = pools.need(&Request::new(entries).unwrap()).unwrap();
                items.push(Item { class, need, value: rng.range(0, 100) });
            }
            let offer = Offer::new(&items, &room, |_| 0);
            let (mut pack, mut left, mut looks) = (offer.empty(100), vec![20; items.len()], Looks::for_level());
            pack.fill(&offer, &mut left, &[1024, 1024], &mut looks);
            pack.exchange(&offer, &mut left, &mut looks);
            assert!(pack.gain <= offer.bound(), "{} of {}", pack.gain, offer.bound());
            reached += u32::from(pack.gain == offer.bound());
        }
        assert!(cfg!(miri) || (20..280).contains(&reached), "{reached} are at the bound");
    }
}

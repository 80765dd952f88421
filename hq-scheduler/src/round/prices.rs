//! Who gets what: workers are filled one after the other. If that leaves something to gain, and all ways cannot be compared, they
//! are filled several times over with prices of tasks that run out.

use std::{collections::BTreeMap, rc::Rc};

use super::{
    assign::{May, Site},
    combine::Looks,
    fill::{Way, choose, fit},
    joint::share_out,
};

/// So often at most all workers are filled on trial.
const ROUNDS_MAX: u64 = 12;

/// How many of each way each site gets.
pub(super) type Shares = Vec<Rc<Vec<u64>>>;

/// The best of several ways to give the sites something; one only where not everything is `free` to be placed, or when `looks`
/// are over.
pub(super) fn share(sites: &[Site<'_>], left: &[u64], free: bool, looks: &mut Looks, may: &May<'_>) -> Shares {
    // The most that a task of a class can be worth.
    let mut worth: Vec<u64> = vec![0; left.len()];
    for way in sites.iter().flat_map(|site| &*site.ways) {
        worth[way.class] = worth[way.class].max(way.value);
    }
    let groups = sites.iter().map(|site| site.group as u64 + 1).max().unwrap_or(1);
    looks.divide(groups * ROUNDS_MAX);
    let mut prices: Vec<u64> = vec![0; left.len()];
    let mut best = fill_all(sites, left, &prices, free, looks, may);
    let most = left.iter().zip(&worth).map(|(left, worth)| left.saturating_mul(*worth)).fold(0, u64::saturating_add);
    if sites.len() < 2 || best.value == most {
        return best.shares;
    }
    if let Some((shares, value)) = share_out(sites, left, may) {
        return if value > best.value { shares } else { best.shares };
    }
    if !free {
        return best.shares;
    }
    let mut last_left = best.first_left.clone();
    for round in 1..ROUNDS_MAX {
        if looks.is_over() {
            break;
        }
        looks.divide(groups * (ROUNDS_MAX - round));
        let mut same = true;
        for ((price, worth), left) in prices.iter_mut().zip(&worth).zip(&last_left) {
            let step = worth / (round + 1);
            let next = if *left == 0 { (*price + step).min(*worth) } else { price.saturating_sub(step) };
            same &= next == *price;
            *price = next;
        }
        if same {
            break; // Nothing runs out.
        }
        let next = fill_all(sites, left, &prices, free, looks, may);
        last_left.clone_from(&next.first_left);
        if next.value > best.value {
            best = next;
        }
    }
    best.shares
}

struct Filled {
    shares: Shares,
    value: u64,
    /// What waited still when all had been placed that was worth its price.
    first_left: Vec<u64>,
}

/// Fills the sites with what is worth more than its price, then with the rest.
fn fill_all(sites: &[Site<'_>], left: &[u64], prices: &[u64], free: bool, looks: &mut Looks, may: &May<'_>) -> Filled {
    let mut left = left.to_vec();
    let mut shares: Shares = Vec::with_capacity(sites.len());
    let mut plans: BTreeMap<usize, Plan<'_>> = BTreeMap::new();
    for (at, site) in sites.iter().enumerate() {
        let may = |class: usize, pools: &_| may(at, class, pools);
        let plan = plans.entry(site.group).or_insert_with(|| Plan::new(site, prices));
        if !(free && plan.is_best(site, &left)) {
            let counts = choose(&site.pools, &plan.ways, &left, site.most, looks, &may);
            let mut all = vec![0; site.ways.len()];
            plan.at.iter().zip(counts).for_each(|(i, n)| all[*i] = n);
            plan.counts = Some(Rc::new(all));
            plan.most = site.most;
        }
        let counts = plan.counts.clone().unwrap_or_default();
        for (way, n) in site.ways.iter().zip(&*counts) {
            left[way.class] = left[way.class].saturating_sub(*n);
        }
        shares.push(counts);
    }
    let first_left = left.clone();
    if free && prices.iter().any(|price| *price > 0) {
        for (site, counts) in sites.iter().zip(&mut shares) {
            top_up(site, counts, &mut left, looks);
        }
    }
    let value = |(site, counts): (&Site<'_>, &Rc<Vec<u64>>)| {
        let values = site.ways.iter().zip(&**counts).map(|(way, n)| way.value.saturating_mul(*n));
        values.fold(0, u64::saturating_add)
    };
    let value = sites.iter().zip(&shares).map(value).fold(0, u64::saturating_add);
    Filled { shares, value, first_left }
}

/// What the last one of a group got.
struct Plan<'a> {
    /// At what is above its price.
    ways: Vec<Way<'a>>,
    /// Where these are in the site's.
    at: Vec<usize>,
    /// Of all of the site's.
    counts: Option<Rc<Vec<u64>>>,
    /// How many tasks that could be at most.
    most: u64,
}

impl<'a> Plan<'a> {
    fn new(site: &Site<'a>, prices: &[u64]) -> Self {
        let above = |(i, way): (usize, &Way<'a>)| {
            let price = prices[way.class];
            let value = way.value.checked_sub(price).filter(|value| *value > 0 || price == 0)?;
            Some((i, Way { value, ..*way }))
        };
        let (at, ways) = site.ways.iter().enumerate().filter_map(above).unzip();
        Self { ways, at, counts: None, most: 0 }
    }

    /// Whether it is the best for another site of the group, too: there is as much left, and not more to choose from than before.
    fn is_best(&self, site: &Site<'_>, left: &[u64]) -> bool {
        let Some(counts) = &self.counts else { return false };
        let mut rest = left.to_vec();
        let enough = self.ways.iter().zip(&self.at).all(|(way, i)| match rest[way.class].checked_sub(counts[*i]) {
            Some(less) => {
                rest[way.class] = less;
                true
            }
            None => false,
        });
        // A higher limit makes no difference where there is no room for so many.
        let fits = || self.ways.iter().map(|way| fit(&site.pools, way, left, site.most)).fold(0, u64::saturating_add);
        enough && counts.iter().sum::<u64>() <= site.most && (site.most <= self.most || fits() <= self.most)
    }
}

/// Adds what still fits as far as amounts say, the most valuable first.
fn top_up(site: &Site<'_>, counts: &mut Rc<Vec<u64>>, left: &mut [u64], looks: &mut Looks) {
    let mut room = site.pools.room();
    let needs: Vec<_> = site.ways.iter().map(|way| site.pools.need(way.request)).collect();
    for (need, n) in needs.iter().zip(&**counts).filter(|(_, n)| **n > 0) {
        for need in need.iter().cycle().take(*n as usize) {
            room.take(need);
        }
    }
    let mut order: Vec<usize> = (0..site.ways.len()).filter(|i| left[site.ways[*i].class] > 0).collect();
    order.sort_by_key(|i| std::cmp::Reverse(site.ways[*i].value));
    let placed = counts.iter().sum::<u64>();
    let mut most = site.most - placed;
    for i in order {
        let Some(need) = &needs[i] else { continue };
        let class = site.ways[i].class;
        while left[class] > 0 && most > 0 && room.take(need) {
            Rc::make_mut(counts)[i] += 1;
            left[class] -= 1;
            most -= 1;
        }
    }
    looks.spend(site.most - most);
}

#[cfg(test)]
mod tests {
    use hq_core::{Request, WorkerResources};

    use super::*;
    use crate::pool::Pools;

    /// The same room, but not the same number of lanes: each site gets as much as if it were alone.
    #[test]
    fn equal_rooms_with_unequal_limits() {
        let pools = Pools::new(&WorkerResources::cpus(4).unwrap());
        let (small, big) = (Request::cpus(1).unwrap(), Request::cpus(3).unwrap());
        let way = |class, request, value| Way { class, variant: 0, request, value };
        let ways = Rc::new(vec![way(0, &small, 10), way(1, &big, 12)]);
        for (limits, expected) in [
            ([1, 4], [[0, 1], [4, 0]]),
            ([4, 1], [[4, 0], [0, 1]]),
            ([2, 3], [[1, 1], [3, 0]]),
            ([4, 16_384], [[4, 0], [4, 0]]),
            ([4, 4], [[4, 0], [4, 0]]),
        ] {
            let site = |most| Site { pools: pools.clone(), ways: Rc::clone(&ways), most, group: 0 };
            let filled =
                fill_all(&limits.map(site), &[100, 100], &[0, 0], true, &mut Looks::for_level(), &|_, _, _| true);
            let shares: Vec<&[u64]> = filled.shares.iter().map(|counts| &counts[..]).collect();
            assert_eq!(shares, expected, "{limits:?}");
        }
    }
}

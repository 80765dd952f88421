//! Who gets what: workers are filled one after the other. If that leaves something to gain, all ways are compared where these are
//! few; else tasks that run out are sold (`auction.rs`).

use std::{collections::BTreeMap, rc::Rc};

use super::{
    assign::{May, Site},
    auction::{Kind, auction},
    fill::{choose, fit},
    joint::share_out,
    looks::Looks,
    pack::Offer,
};

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
    let plain = if free { looks.left() / 8 } else { looks.left() };
    let plain = looks.part(plain, |looks| fill_all(sites, left, looks, free, may));
    let most = left.iter().zip(&worth).map(|(left, worth)| left.saturating_mul(*worth)).fold(0, u64::saturating_add);
    if sites.len() < 2 || plain.value == most || plain.value >= bound(sites) {
        return plain.shares;
    }
    if let Some((shares, value)) = share_out(sites, left, may) {
        return if value > plain.value { shares } else { plain.shares };
    }
    let runs_out = plain.left.iter().zip(&worth).any(|(left, worth)| *left == 0 && *worth > 0);
    if !(free && runs_out) {
        return plain.shares;
    }
    let sold = auction(sites, left, looks);
    sold.filter(|(_, value)| *value > plain.value).map_or(plain.shares, |(shares, _)| shares)
}

/// No shares of the sites are worth more.
fn bound(sites: &[Site<'_>]) -> u64 {
    let mut of_group: BTreeMap<usize, u64> = BTreeMap::new();
    let of_site =
        |site: &Site<'_>| Kind::new(site).map_or(u64::MAX, |kind| Offer::new(&kind.items, &kind.room, |_| 0).bound());
    let of_sites = sites.iter().map(|site| *of_group.entry(site.group).or_insert_with(|| of_site(site)));
    of_sites.fold(0, u64::saturating_add)
}

struct Filled {
    shares: Shares,
    value: u64,
    /// What waits still.
    left: Vec<u64>,
}

/// Fills the sites one after the other.
fn fill_all(sites: &[Site<'_>], left: &[u64], looks: &mut Looks, free: bool, may: &May<'_>) -> Filled {
    let mut left = left.to_vec();
    let mut shares: Shares = Vec::with_capacity(sites.len());
    let mut plans: BTreeMap<usize, Plan> = BTreeMap::new();
    let mut value: u64 = 0;
    // Each group has its part of what may be looked at.
    let portion = looks.left() / sites.iter().map(|site| site.group as u64 + 1).max().unwrap_or(1);
    for (at, site) in sites.iter().enumerate() {
        let may = |class: usize, pools: &_| may(at, class, pools);
        let plan = plans.entry(site.group).or_insert_with(|| Plan { counts: None, most: 0 });
        if !(free && plan.is_best(site, &left)) {
            let counts = looks.part(portion, |looks| choose(&site.pools, &site.ways, &left, site.most, looks, &may));
            plan.counts = Some(Rc::new(counts));
            plan.most = site.most;
        }
        let counts = plan.counts.clone().unwrap_or_default();
        for (way, n) in site.ways.iter().zip(&*counts) {
            left[way.class] = left[way.class].saturating_sub(*n);
            value = value.saturating_add(way.value.saturating_mul(*n));
        }
        shares.push(counts);
    }
    Filled { shares, value, left }
}

/// What the last one of a group got.
struct Plan {
    /// Of each way.
    counts: Option<Rc<Vec<u64>>>,
    /// How many tasks that could be at most.
    most: u64,
}

impl Plan {
    /// Whether it is the best for another site of the group, too: there is as much left, and not more to choose from than before.
    fn is_best(&self, site: &Site<'_>, left: &[u64]) -> bool {
        let Some(counts) = &self.counts else { return false };
        let mut rest = left.to_vec();
        let enough = site.ways.iter().zip(&**counts).all(|(way, n)| match rest[way.class].checked_sub(*n) {
            Some(less) => {
                rest[way.class] = less;
                true
            }
            None => false,
        });
        // A higher limit makes no difference where there is no room for so many.
        let fits = || site.ways.iter().map(|way| fit(&site.pools, way, left, site.most)).fold(0, u64::saturating_add);
        enough && counts.iter().sum::<u64>() <= site.most && (site.most <= self.most || fits() <= self.most)
    }
}

#[cfg(test)]
mod tests {
    use hq_core::{Request, WorkerResources};

    use super::{super::fill::Way, *};
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
            let filled = fill_all(&limits.map(site), &[100, 100], &mut Looks::for_level(), true, &|_, _, _| true);
            let shares: Vec<&[u64]> = filled.shares.iter().map(|counts| &counts[..]).collect();
            assert_eq!(shares, expected, "{limits:?}");
        }
    }
}

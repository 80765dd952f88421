//! The best combination of tasks for the room of one worker.
//!
//! Few classes and few ways: all combinations are tried, so that what is placed is worth most (a small knapsack). Else numbers
//! alone are combined (`combine`), and what comes out is tried on the exact indices.

use std::sync::Arc;

use hq_core::{Allocation, Request};

use super::{
    combine::combine,
    looks::Looks,
    pack::Item,
    search::{Set, all_sets},
};
use crate::{pool::Pools, utilization::cpus_of};

/// A way to start a task of a class that waits.
#[derive(Clone, Copy)]
pub(super) struct Way<'a> {
    /// The class, as the caller counts them. Ways of one class share its waiting tasks.
    pub(super) class: usize,
    /// The variant.
    pub(super) variant: u8,
    /// What it takes.
    pub(super) request: &'a Request,
    /// What one is worth.
    pub(super) value: u64,
}

/// Something that was placed.
#[derive(Clone)]
pub(super) struct Placed {
    /// The class.
    pub(super) class: usize,
    /// The variant.
    pub(super) variant: u8,
    /// What it got.
    pub(super) allocation: Arc<Allocation>,
}

/// How many of each way make a combination of great value: at most `waiting[class]` tasks of each class and `most` in all, each
/// only while `may` allows one more of its class. Earlier ways win ties.
pub(super) fn choose(
    pools: &Pools,
    ways: &[Way<'_>],
    waiting: &[u64],
    most: u64,
    looks: &mut Looks,
    may: &dyn Fn(usize, &Pools) -> bool,
) -> Vec<u64> {
    choose_using(pools, ways, waiting, most, 0, looks, may)
}

/// The same, if possible such that at least so many parts of cpus are used.
pub(super) fn choose_using(
    pools: &Pools,
    ways: &[Way<'_>],
    waiting: &[u64],
    most: u64,
    cpus: u64,
    looks: &mut Looks,
    may: &dyn Fn(usize, &Pools) -> bool,
) -> Vec<u64> {
    let fits: Vec<u64> = ways.iter().map(|way| fit(pools, way, waiting, most)).collect();
    let useful: Vec<usize> = (0..ways.len()).filter(|i| fits[*i] > 0).collect();
    let some: Vec<Way<'_>> = useful.iter().map(|i| ways[*i]).collect();
    let used = |counts: &[u64]| {
        let parts = some.iter().zip(counts).map(|(way, n)| cpus_of(pools, way.request).parts().saturating_mul(*n));
        parts.fold(0, u64::saturating_add)
    };
    let chosen = match useful[..] {
        [] => vec![],
        [i] => vec![fits[i]],
        _ => match all_sets(pools, &some, useful.iter().map(|i| fits[*i]), waiting, most, may) {
            Some(sets) => {
                let key = |set: &Set| (used(&set.counts) >= cpus, set.value);
                // What is worth nothing is to run, too: the first one counts in any case.
                let best = sets.into_iter().reduce(|best, set| if key(&set) > key(&best) { set } else { best });
                best.map(|set| set.counts).unwrap_or_default()
            }
            None => {
                let mut combined = |value: &dyn Fn(&Way<'_>) -> u64| {
                    let item = |way: &Way<'_>| {
                        Some(Item { class: way.class, need: pools.need(way.request)?, value: value(way) })
                    };
                    let items: Vec<Item> = some.iter().filter_map(item).collect();
                    combine(&pools.room(), &items, waiting, most, looks)
                };
                let best = combined(&|way| way.value);
                if used(&best) >= cpus { best } else { combined(&|way| cpus_of(pools, way.request).parts()) }
            }
        },
    };
    let mut counts = vec![0; ways.len()];
    for (i, n) in useful.into_iter().zip(chosen) {
        counts[i] = n;
    }
    counts
}

/// Takes a combination out of `pools`, as far as it really fits; counts `waiting` down.
pub(super) fn place(
    pools: &mut Pools,
    ways: &[Way<'_>],
    counts: &[u64],
    waiting: &mut [u64],
    most: u64,
    may: &dyn Fn(usize, &Pools) -> bool,
) -> Vec<Placed> {
    let mut placed = Vec::new();
    for (way, n) in ways.iter().zip(counts) {
        let n = (*n).min(waiting[way.class]).min(most - placed.len() as u64);
        let before = placed.len();
        while ((placed.len() - before) as u64) < n && may(way.class, pools) {
            let Some(next) = take(pools, way) else { break };
            placed.push(next);
        }
        waiting[way.class] -= (placed.len() - before) as u64;
    }
    placed
}

/// Takes whatever else fits, the most valuable first; counts `waiting` down.
pub(super) fn top_up(
    pools: &mut Pools,
    ways: &[Way<'_>],
    waiting: &mut [u64],
    most: u64,
    may: &dyn Fn(usize, &Pools) -> bool,
) -> Vec<Placed> {
    let mut ways: Vec<Way<'_>> =
        ways.iter().filter(|way| waiting[way.class] > 0 && pools.fits(way.request)).copied().collect();
    ways.sort_by_key(|way| std::cmp::Reverse(way.value));
    place(pools, &ways, &vec![u64::MAX; ways.len()], waiting, most, may)
}

/// How many of a way fit.
pub(super) fn fit(pools: &Pools, way: &Way<'_>, waiting: &[u64], most: u64) -> u64 {
    let cap = waiting[way.class].min(most);
    u64::from(pools.fits_count(way.request, u32::try_from(cap).unwrap_or(u32::MAX)))
}

/// Takes one, if it fits.
pub(super) fn take(pools: &mut Pools, way: &Way<'_>) -> Option<Placed> {
    let allocation = Arc::new(pools.allocate(way.request)?);
    pools.take(&allocation).then_some(Placed { class: way.class, variant: way.variant, allocation })
}

#[cfg(test)]
mod tests {
    use hq_core::{Quantity, ResourceDef, ResourceEntry, WorkerResources};

    use super::*;

    fn fill(pools: &mut Pools, ways: &[Way<'_>], waiting: &[u64]) -> Vec<Placed> {
        let counts = choose(pools, ways, waiting, 1000, &mut Looks::for_level(), &|_, _| true);
        place(pools, ways, &counts, &mut waiting.to_vec(), 1000, &|_, _| true)
    }

    /// Value by share of the worker.
    fn filled(worker: &str, classes: &[(&[&str], u64)]) -> Vec<u64> {
        let mut defs = vec![];
        for (i, part) in worker.split(',').enumerate() {
            defs.push(if i == 0 { ResourceDef::parse_cpus(part) } else { ResourceDef::parse(part) }.unwrap());
        }
        let mut pools = Pools::new(&WorkerResources::new(defs, vec![]).unwrap());
        let variants: Vec<Vec<Request>> = classes
            .iter()
            .map(|(variants, _)| {
                let entries = |text: &&str| text.split(',').map(|e| ResourceEntry::parse(e).unwrap()).collect();
                variants.iter().map(|text| Request::new(entries(text)).unwrap()).collect()
            })
            .collect();
        let mut options = vec![];
        for (class, variants) in variants.iter().enumerate() {
            for (variant, request) in variants.iter().enumerate() {
                let share = |entry: &ResourceEntry| match entry.quantity {
                    Quantity::Amount(amount, _) => {
                        amount.parts() * 1000 / pools.total(entry.resource.as_str()).parts().max(1)
                    }
                    Quantity::All => 1000,
                };
                let value = request.entries().iter().map(share).sum();
                options.push(Way { class, variant: variant as u8, request, value });
            }
        }
        let waiting: Vec<u64> = classes.iter().map(|(_, n)| *n).collect();
        let placed = fill(&mut pools, &options, &waiting);
        options
            .iter()
            .map(|o| placed.iter().filter(|p| (p.class, p.variant) == (o.class, o.variant)).count() as u64)
            .collect()
    }

    #[test]
    fn what_is_worth_nothing_is_placed_too() {
        let mut pools = Pools::new(&WorkerResources::cpus(4).unwrap());
        let [one, two] = [1, 2].map(|n| Request::cpus(n).unwrap());
        let way = |class, request, value| Way { class, variant: 0, request, value };
        for value in [0, 1] {
            let options = [way(0, &one, 0), way(1, &two, value)];
            assert_eq!(fill(&mut pools.clone(), &options, &[2, 1]).len(), 3);
        }
        assert_eq!(fill(&mut pools, &[], &[]).len(), 0);
    }

    #[test]
    fn knapsacks() {
        for (worker, classes, expected) in [
            ("11", &[(&["cpus=2", "cpus=5"][..], 2)][..], &[0, 2][..]),
            ("11", &[(&["cpus=2", "cpus=5"], 3)], &[0, 2]),
            ("14", &[(&["cpus=2", "cpus=5"], 3)], &[1, 2]),
            ("8", &[(&["cpus=2", "cpus=5"], 10)], &[4, 0]),
            ("8", &[(&["cpus=2", "cpus=5"], 3)], &[1, 1]),
            ("12", &[(&["cpus=6", "cpus=2,gpus=2"], 10)], &[2, 0]),
            ("12,gpus=sum(4)", &[(&["cpus=6", "cpus=2,gpus=2"], 10)], &[1, 2]),
            ("12,gpus=sum(20)", &[(&["cpus=6", "cpus=2,gpus=2"], 10)], &[0, 6]),
            ("4", &[(&["cpus=3"], 1), (&["cpus=2"], 2)], &[0, 2]),
            ("10,r=sum(10)", &[(&["cpus=1,r=1"], 50), (&["cpus=1,r=2"], 50)], &[10, 0]),
        ] {
            assert_eq!(filled(worker, classes), expected, "{worker} {classes:?}");
        }
    }
}

//! The best combination of tasks for the room of one worker.
//!
//! Few classes and few ways: all ways are tried, so that what is placed is worth most (a small knapsack). Else a *ratio
//! greedy*: again and again the class of best value per largest fraction of what is left, a quarter of its fit at a time.

use hq_core::{Quantity, Request};

use crate::pool::Pools;

/// So many variants of classes, and so many ways, are tried out at most.
const OPTIONS_MAX: usize = 4;
const WAYS_MAX: u64 = 64;

/// A way to start a task of a class that waits.
pub(super) struct Way<'a> {
    /// The class, as the caller counts them. Options of one class share its waiting tasks.
    pub(super) class: usize,
    /// The variant.
    pub(super) variant: u8,
    /// What it takes.
    pub(super) request: &'a Request,
    /// What one is worth.
    pub(super) value: u64,
}

/// Something that was placed.
pub(super) struct Placed {
    /// The class.
    pub(super) class: usize,
    /// The variant.
    pub(super) variant: u8,
}

/// Takes a combination of great value out of `pools`: at most `waiting[class]` tasks of each class and `most` in all, each
/// only while `may` allows one more of its class. Earlier options win ties.
pub(super) fn fill(
    pools: &mut Pools,
    options: &[Way<'_>],
    waiting: &[u64],
    most: u64,
    may: &dyn Fn(usize, &Pools) -> bool,
) -> Vec<Placed> {
    let fits: Vec<u64> = options.iter().map(|option| fit(pools, option, waiting, most)).collect();
    let useful: Vec<usize> = (0..options.len()).filter(|i| fits[*i] > 0).collect();
    let ways = useful.iter().fold(1u64, |ways, i| ways.saturating_mul(fits[*i] + 1));
    let counts = match useful[..] {
        [] => return vec![],
        [i] => return one_class(pools, &options[i], fits[i], may),
        _ if useful.len() <= OPTIONS_MAX && ways <= WAYS_MAX => {
            let options: Vec<&Way<'_>> = useful.iter().map(|i| &options[*i]).collect();
            let mut search = Search { options, waiting: waiting.to_vec(), may, best: None };
            search.go(pools, 0, most, 0, &mut vec![]);
            search.best.map(|(_, counts)| counts).unwrap_or_default()
        }
        _ => return by_ratio(pools, options, waiting, most, may),
    };
    let mut placed = Vec::new();
    for (i, count) in useful.into_iter().zip(counts) {
        for _ in 0..count {
            placed.extend(take(pools, &options[i]));
        }
    }
    placed
}

fn one_class(pools: &mut Pools, option: &Way<'_>, most: u64, may: &dyn Fn(usize, &Pools) -> bool) -> Vec<Placed> {
    let mut placed = Vec::new();
    while (placed.len() as u64) < most && may(option.class, pools) {
        let Some(next) = take(pools, option) else { break };
        placed.push(next);
    }
    placed
}

fn fit(pools: &Pools, option: &Way<'_>, waiting: &[u64], most: u64) -> u64 {
    let cap = waiting[option.class].min(most);
    u64::from(pools.fits_count(option.request, u32::try_from(cap).unwrap_or(u32::MAX)))
}

fn take(pools: &mut Pools, option: &Way<'_>) -> Option<Placed> {
    let allocation = pools.allocate(option.request)?;
    pools.take(&allocation).then_some(Placed { class: option.class, variant: option.variant })
}

/// All ways, most of the earlier options first, so that they win ties.
struct Search<'a> {
    options: Vec<&'a Way<'a>>,
    waiting: Vec<u64>,
    may: &'a dyn Fn(usize, &Pools) -> bool,
    best: Option<(u64, Vec<u64>)>,
}

impl Search<'_> {
    fn go(&mut self, pools: &Pools, at: usize, most: u64, value: u64, counts: &mut Vec<u64>) {
        let Some(option) = self.options.get(at).copied() else {
            // The first way counts in any case: what is worth nothing is to run, too.
            if self.best.as_ref().is_none_or(|(best, _)| value > *best) {
                self.best = Some((value, counts.clone()));
            }
            return;
        };
        // The states after 0, 1, 2 … more of this option, as far as it goes.
        let mut states = vec![pools.clone()];
        let room = self.waiting[option.class].min(most);
        while (states.len() as u64) <= room {
            let Some(last) = states.last().filter(|last| (self.may)(option.class, last)) else { break };
            let mut next = last.clone();
            if take(&mut next, option).is_none() {
                break;
            }
            states.push(next);
        }
        for (n, state) in states.iter().enumerate().rev() {
            let n = n as u64;
            self.waiting[option.class] -= n;
            counts.push(n);
            self.go(state, at + 1, most - n, value.saturating_add(option.value.saturating_mul(n)), counts);
            counts.pop();
            self.waiting[option.class] += n;
        }
    }
}

fn by_ratio(
    pools: &mut Pools,
    options: &[Way<'_>],
    waiting: &[u64],
    most: u64,
    may: &dyn Fn(usize, &Pools) -> bool,
) -> Vec<Placed> {
    let mut waiting = waiting.to_vec();
    let mut open: Vec<bool> = vec![true; options.len()];
    let mut placed = Vec::new();
    while (placed.len() as u64) < most {
        let left = most - placed.len() as u64;
        let usable = |(i, option): &(usize, &Way<'_>)| {
            open[*i]
                && waiting[option.class] > 0
                && may(option.class, pools)
                && pools.allocate(option.request).is_some()
        };
        let best = options.iter().enumerate().filter(usable).min_by_key(|(_, option)| {
            let worst = worst_fraction(pools, option.request);
            // Value per fraction, the larger first, without dividing.
            std::cmp::Reverse(u128::from(option.value) * u128::from(u64::MAX) / u128::from(worst.max(1)))
        });
        let Some((i, option)) = best else { break };
        let batch = fit(pools, option, &waiting, left).div_ceil(4).max(1);
        let mut taken = 0;
        while taken < batch && may(option.class, pools) {
            let Some(next) = take(pools, option) else { break };
            placed.push(next);
            taken += 1;
        }
        waiting[option.class] -= taken;
        if taken == 0 {
            open[i] = false;
        }
    }
    placed
}

/// The largest part of what is left of any resource that the request takes, in parts of 2^32.
fn worst_fraction(pools: &Pools, request: &Request) -> u64 {
    let fraction = |entry: &hq_core::ResourceEntry| {
        let free = pools.free(entry.resource.as_str()).parts();
        let amount = match entry.quantity {
            Quantity::Amount(amount, _) => amount.parts(),
            Quantity::All => free,
        };
        u64::try_from((u128::from(amount) << 32) / u128::from(free.max(1))).unwrap_or(u64::MAX)
    };
    request.entries().iter().map(fraction).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use hq_core::{ResourceDef, ResourceEntry, WorkerResources};

    use super::*;

    /// Value by cpus alone.
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
        let placed = fill(&mut pools, &options, &waiting, 1000, &|_, _| true);
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
            assert_eq!(fill(&mut pools.clone(), &options, &[2, 1], 10, &|_, _| true).len(), 3);
        }
        assert_eq!(fill(&mut pools, &[], &[], 10, &|_, _| true).len(), 0);
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

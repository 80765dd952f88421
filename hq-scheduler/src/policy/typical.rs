use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use hq_core::{Amount, Quantity, Request, ResourceName, WorkerResources};

use crate::pool::{Glance, Pools, is_strict};

/// The classes that most tasks belong to, and how scarce the resources are that they ask for.
///
/// It answers how much of what is free is of no use: the *fragmentation* of [gradient descent][fgd] on it, for any resources
/// instead of GPUs alone. For a worker M it is Σ over typical classes m and the resources r that m asks for of
///
/// > share of m × scarcity of r × [useless](Pools::useless) part of r on M for m ÷ all of r in the cluster.
///
/// The *share* of a class is its part of the tasks seen. *Scarcity* compares how much of each resource the typical tasks ask
/// for with how much there is: 1 for the resource that would be exhausted first, and (ratio ÷ largest ratio)^16 for the
/// others. So what is plentiful hardly counts unless all else is equal, and there is no jump where two resources change
/// places. Nothing here is a float; equal states give equal figures.
///
/// [fgd]: https://www.usenix.org/conference/atc23/presentation/weng
#[derive(Clone, Debug, Default)]
pub struct Typical {
    classes: Vec<Class>,
    /// Resources that the classes ask for, by name.
    scarce: Vec<Scarce>,
    /// The others, and how much of them there is.
    unwanted: Vec<(ResourceName, u64)>,
}

#[derive(Clone, Debug)]
struct Class {
    variants: Vec<Variant>,
    /// Positions of the resources that some variant asks for.
    asks: Vec<usize>,
    /// Of the tasks seen, in 1/2^16.
    share: u64,
}

#[derive(Clone, Debug)]
struct Variant {
    request: Request,
    /// Position of the resource, and what is asked for.
    lines: Vec<(usize, Quantity)>,
    /// Amounts alone decide whether it fits.
    is_plain: bool,
}

#[derive(Clone, Debug)]
struct Scarce {
    name: ResourceName,
    /// What one part of it is worth: scarcity ÷ all of it.
    worth: u128,
}

/// Classes are typical that together make so many percent of the tasks seen, the most popular first.
const TYPICAL_PERCENT: u128 = 95;
/// A share or a scarcity of 1.
const ONE: u128 = 1 << 16;
/// All of the scarcest resource in the cluster.
const WHOLE: u128 = 1 << 40;
/// All of a resource for which no typical task asks: who comes for it finds it free where all else is equal.
const UNWANTED: u128 = WHOLE >> 20;

impl Typical {
    /// The typical ones among `classes`, which are given with the number of their tasks, on these workers. Gangs are left
    /// aside: they take whole workers.
    pub fn new<'a, C, R>(classes: C, workers: impl IntoIterator<Item = &'a WorkerResources>) -> Self
    where
        C: IntoIterator<Item = (R, u64)>,
        R: IntoIterator<Item = &'a Request>,
    {
        let mut totals: BTreeMap<&ResourceName, (u64, u64)> = BTreeMap::new();
        for def in workers.into_iter().flat_map(|resources| resources.resources()) {
            let (total, workers) = totals.entry(&def.name).or_default();
            *total = total.saturating_add(def.kind.total().parts());
            *workers += 1;
        }
        let classes = classes.into_iter().map(|(requests, count)| (requests.into_iter().collect(), count));
        let popular = most_popular(classes.collect());
        let tasks: u128 = popular.iter().map(|(_, count)| u128::from(*count)).sum();
        let mut demand: BTreeMap<&ResourceName, u128> = BTreeMap::new();
        for (requests, count) in &popular {
            for entry in requests.first().into_iter().flat_map(|request| request.entries()) {
                let of = demand.entry(&entry.resource).or_default();
                let (total, workers) = totals.get(&entry.resource).copied().unwrap_or_default();
                let amount = match entry.quantity {
                    Quantity::Amount(amount, _) => amount.parts(),
                    Quantity::All => total / workers.max(1),
                };
                *of = of.saturating_add(u128::from(*count) * u128::from(amount));
            }
        }
        // Demand in 2^-32 of what there is; what nobody has is not scarce, it is missing.
        let total_of = |name: &ResourceName| totals.get(name).map_or(0, |(total, _)| u128::from(*total));
        let ratio = |(name, demand): (_, &u128)| {
            Some((name, (demand.min(&(u128::MAX >> 32)) << 32).checked_div(total_of(name))?))
        };
        let ratios: BTreeMap<&ResourceName, u128> =
            demand.iter().filter_map(|(name, demand)| ratio((*name, demand))).collect();
        let largest = ratios.values().copied().max().unwrap_or(0).max(1);
        let scarce: Vec<Scarce> = ratios
            .into_iter()
            .map(|(name, ratio)| (name, sixteenth_power(ratio, largest) * WHOLE / total_of(name).max(1)))
            .map(|(name, worth)| Scarce { name: name.clone(), worth })
            .collect();
        let is_wanted = |name: &ResourceName| {
            scarce.binary_search_by(|scarce| scarce.name.cmp(name)).is_ok_and(|at| scarce[at].worth > 0)
        };
        let unwanted = totals.iter().filter(|(name, _)| !is_wanted(name));
        let unwanted = unwanted.map(|(name, (total, _))| ((*name).clone(), *total)).collect();
        let line = |entry: &hq_core::ResourceEntry| {
            let at = scarce.binary_search_by(|scarce| scarce.name.cmp(&entry.resource)).ok()?;
            Some((at, entry.quantity))
        };
        let variant = |request: &&Request| {
            let lines: Vec<(usize, Quantity)> = request.entries().iter().filter_map(line).collect();
            let is_plain = lines.len() == request.entries().len() && !is_strict(request);
            Variant { request: (*request).clone(), lines, is_plain }
        };
        let class = |(requests, count): (Vec<&Request>, u64)| {
            let variants: Vec<Variant> = requests.iter().map(variant).collect();
            let asks: BTreeSet<usize> =
                variants.iter().flat_map(|variant| variant.lines.iter().map(|(at, _)| *at)).collect();
            let asks = asks.into_iter().collect();
            Class { variants, asks, share: (u128::from(count) * ONE / tasks.max(1)) as u64 }
        };
        Self { classes: popular.into_iter().map(class).collect(), scarce, unwanted }
    }

    /// The typical classes: their requests, and how many of 65,536 tasks are theirs.
    pub fn classes(&self) -> impl Iterator<Item = (impl Iterator<Item = &Request>, u64)> {
        self.classes.iter().map(|class| (class.variants.iter().map(|variant| &variant.request), class.share))
    }

    /// The fragmentation of what is free, and all that is free by worth.
    pub(crate) fn fragmentation(&self, pools: &Pools) -> (Fragmentation, i64) {
        let looks = self.look(pools);
        let mut sum = 0u128;
        self.useless_parts(pools, &looks, |at, share, parts| {
            let worth = self.scarce[at].worth * u128::from(share);
            sum = sum.saturating_add(worth.saturating_mul(u128::from(parts)));
        });
        let idle = |(look, scarce): (&Glance, &Scarce)| scarce.worth.saturating_mul(look.free.into());
        let unwanted = |(name, total): &(ResourceName, u64)| {
            UNWANTED * u128::from(pools.free(name.as_str()).parts()) / u128::from(*total).max(1)
        };
        let unwanted = self.unwanted.iter().map(unwanted);
        let idle = looks.iter().zip(&self.scarce).map(idle).chain(unwanted).fold(0, u128::saturating_add);
        (Fragmentation(sum), i64::try_from(idle).unwrap_or(i64::MAX))
    }

    fn look(&self, pools: &Pools) -> Vec<Glance> {
        self.scarce.iter().map(|scarce| pools.glance(scarce.name.as_str())).collect()
    }

    /// Resources that somebody asks for and some worker has, by name.
    pub fn resources(&self) -> impl Iterator<Item = &ResourceName> {
        self.scarce.iter().map(|scarce| &scarce.name)
    }

    /// For each of the [`resources`](Self::resources): how much of what is free a typical task that asks for it cannot use, in
    /// the mean over these tasks.
    pub fn useless(&self, pools: &Pools) -> impl Iterator<Item = Amount> {
        let mut sums = vec![(0u128, 0u128); self.scarce.len()];
        self.useless_parts(pools, &self.look(pools), |at, share, parts| {
            let (sum, shares) = &mut sums[at];
            *sum = sum.saturating_add(u128::from(share) * u128::from(parts));
            *shares += u128::from(share);
        });
        let mean = |(sum, shares): (u128, u128)| u64::try_from(sum / shares.max(1)).unwrap_or(u64::MAX);
        sums.into_iter().map(move |sums| Amount::from_parts(mean(sums)))
    }

    /// Tells of each class and each resource that it asks for how many parts are of no use; with several variants, for the
    /// one that is served best.
    fn useless_parts(&self, pools: &Pools, looks: &[Glance], mut tell: impl FnMut(usize, u64, u64)) {
        for class in &self.classes {
            if let [variant] = &class.variants[..] {
                // What nearly all have.
                let fits = variant.fits(pools, looks);
                for (at, quantity) in &variant.lines {
                    tell(*at, class.share, if fits { looks[*at].scraps(*quantity) } else { looks[*at].free });
                }
                continue;
            }
            let mut fitting = 0u32;
            for (n, variant) in class.variants.iter().enumerate() {
                fitting |= u32::from(variant.fits(pools, looks)) << n;
            }
            for at in class.asks.iter().copied() {
                let useless = class.variants.iter().enumerate().filter_map(|(n, variant)| {
                    let (_, quantity) = variant.lines.iter().find(|(line, _)| *line == at)?;
                    let fits = fitting & 1 << n != 0;
                    Some(if fits { looks[at].scraps(*quantity) } else { looks[at].free })
                });
                tell(at, class.share, useless.min().unwrap_or(0));
            }
        }
    }
}

impl Variant {
    fn fits(&self, pools: &Pools, looks: &[Glance]) -> bool {
        if self.is_plain {
            self.lines.iter().all(|(at, quantity)| looks[*at].holds(*quantity))
        } else {
            pools.fits(&self.request)
        }
    }
}

/// How much is of no use, by worth and share. Differences are exact: equal changes of different states are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fragmentation(u128);

impl Fragmentation {
    /// By how much it is larger than `before`.
    pub(crate) fn more_than(self, before: Self) -> i64 {
        let size = i64::try_from(self.0.abs_diff(before.0) / ONE).unwrap_or(i64::MAX);
        if self.0 < before.0 { -size } else { size }
    }
}

fn most_popular(mut classes: Vec<(Vec<&Request>, u64)>) -> Vec<(Vec<&Request>, u64)> {
    classes.retain(|(requests, count)| *count > 0 && requests.iter().all(|request| request.nodes() == 0));
    classes.sort_by_key(|(_, count)| Reverse(*count));
    let all: u128 = classes.iter().map(|(_, count)| u128::from(*count)).sum();
    let mut sofar = 0;
    let enough = classes.iter().take_while(|(_, count)| {
        let more = sofar * 100 < all * TYPICAL_PERCENT;
        sofar += u128::from(*count);
        more
    });
    let enough = enough.count();
    classes.truncate(enough);
    classes
}

/// (part ÷ whole)^16, in units of [`ONE`]; `part` is not larger than `whole`.
fn sixteenth_power(part: u128, whole: u128) -> u128 {
    // The leading 64 bits are exact enough, and leave room.
    let shift = 64u32.saturating_sub(whole.leading_zeros());
    let mut power = ((part >> shift) << 32) / (whole >> shift).max(1);
    for _ in 0..4 {
        power = (power * power) >> 32;
    }
    power >> 16
}

#[cfg(test)]
mod tests {
    use hq_core::{Policy, ResourceDef, ResourceEntry};

    use super::*;

    fn request(text: &str) -> Request {
        Request::new(text.split(',').map(|entry| ResourceEntry::parse(entry).unwrap()).collect()).unwrap()
    }

    fn worker(text: &str) -> WorkerResources {
        let defs = text.split(' ').map(|def| ResourceDef::parse(def).unwrap());
        WorkerResources::new(defs.collect(), vec![]).unwrap()
    }

    /// Classes as variants joined by `|`, with the number of their tasks.
    fn typical(classes: &[(&str, u64)], workers: &[WorkerResources]) -> Typical {
        let variants: Vec<Vec<Request>> =
            classes.iter().map(|(text, _)| text.split('|').map(request).collect()).collect();
        Typical::new(variants.iter().zip(classes).map(|(variants, (_, count))| (variants, *count)), workers)
    }

    #[test]
    fn powers() {
        for (part, whole, expected) in
            [(1, 1, 65_536), (1, 2, 1), (3, 4, 656), (0, 5, 0), (u128::MAX, u128::MAX, 65_536), (1, u128::MAX, 0)]
        {
            assert_eq!(sixteenth_power(part, whole), expected, "{part} / {whole}");
        }
    }

    #[test]
    fn the_rarest_are_not_typical() {
        let found = |counts: &[u64]| {
            let requests: Vec<Request> = (1..).take(counts.len()).map(|n| Request::cpus(n).unwrap()).collect();
            let classes = requests.iter().zip(counts).map(|(request, count)| ([request], *count));
            Typical::new(classes, []).classes().map(|(_, share)| share).collect::<Vec<_>>()
        };
        assert_eq!(found(&[5, 95]), [65_536]);
        assert_eq!(found(&[6, 94]), [61_603, 3_932]);
        assert_eq!(found(&[0, 0]), [0u64; 0]);
        assert_eq!(found(&[u64::MAX, u64::MAX]), [32_768, 32_768]);
        let gang = Request::gang(2);
        assert_eq!(Typical::new([([&gang], 9)], []).classes().count(), 0);
    }

    /// What is of no use of `gpus` in the mean over those who ask for them, in parts.
    #[test]
    fn useless_parts_are_of_those_who_ask() {
        let node = worker("cpus=[0,1,2,3] gpus=[0,1]");
        for (classes, taken, expected) in [
            (&[("cpus=1,gpus=0.5", 1)][..], "cpus=1", 0),
            (&[("cpus=1,gpus=0.5", 1)], "cpus=1,gpus=0.6", 4_000),
            (&[("cpus=1,gpus=0.5", 1), ("cpus=1,gpus=0.4", 3)], "cpus=1,gpus=0.6", 1_000),
            // Those that ask for none do not count, and neither does a variant without.
            (&[("cpus=1,gpus=0.5", 1), ("cpus=1", 1)], "cpus=1,gpus=0.6", 4_000),
            (&[("cpus=1,gpus=0.5|cpus=4", 1)], "cpus=1,gpus=0.6", 4_000),
            // The variant that is served best counts.
            (&[("cpus=1,gpus=0.5|cpus=1,gpus=0.3", 1)], "cpus=1,gpus=0.6", 0),
            (&[("cpus=2,gpus=1", 1)], "cpus=3", 20_000),
            (&[("gpus=all", 1)], "cpus=3", 0),
            (&[("gpus=all", 1)], "gpus=0.5", 15_000),
            (&[("gpus=2 compact!", 1)], "cpus=1", 0),
        ] {
            let typical = typical(classes, std::slice::from_ref(&node));
            let mut pools = Pools::new(&node);
            let allocation = pools.allocate(&request(taken)).unwrap();
            assert!(pools.take(&allocation));
            let at = typical.resources().position(|name| name.as_str() == "gpus").unwrap();
            assert_eq!(typical.useless(&pools).nth(at).unwrap().parts(), expected, "{classes:?}, taken {taken}");
        }
    }

    #[test]
    fn the_scarcest_decides() {
        // Twice as many gpus are asked for as cpus, by their share: what is of no use of the cpus hardly counts.
        let node = worker("cpus=[0,1,2,3] gpus=[0,1,2,3]");
        let typical = typical(&[("cpus=1,gpus=2", 1)], std::slice::from_ref(&node));
        let after = |taken: &str| {
            let mut pools = Pools::new(&node);
            let allocation = pools.allocate(&request(taken)).unwrap();
            pools.take(&allocation);
            typical.fragmentation(&pools).0
        };
        let none = typical.fragmentation(&Pools::new(&node)).0;
        assert_eq!(after("cpus=1").more_than(none), 0);
        let (gpus, cpus) = (after("cpus=4").more_than(none), after("gpus=4").more_than(none));
        assert!(gpus > 1_000 * cpus && cpus > 0, "{gpus} {cpus}");
        assert_eq!(none.more_than(after("cpus=4")), -gpus);
    }

    #[test]
    fn absurd_amounts_do_no_harm() {
        let huge = Quantity::Amount(Amount::units(u32::MAX), Policy::Compact);
        let entry = |name: &str| ResourceEntry { resource: ResourceName::new(name).unwrap(), quantity: huge };
        let absurd = Request::new(vec![entry("mem"), entry("nothing")]).unwrap();
        let nodes = vec![worker("mem=sum(4294967295) cpus=[0]"); 3];
        let typical = Typical::new([([&absurd], u64::MAX)], &nodes);
        let pools = Pools::new(&nodes[0]);
        let (found, _) = typical.fragmentation(&pools);
        assert_eq!(found.more_than(found), 0);
        assert_eq!(typical.useless(&pools).collect::<Vec<_>>(), [pools.free("mem")]);
    }
}

//! What must hold of the free state of a worker, whatever is asked and in whatever order things are given back.
//!
//! | test | invariant |
//! |---|---|
//! | `any_sequence` | I1 no oversubscription, I2 conservation per index, I6 fits = allocate, policies, counts, release restores |
//! | `groups_are_best` | I10 locality, against all subsets of groups; soft forms refuse nothing that strict ones accept |
//! | `nonsense_changes_nothing` | only what is free can be taken, only what is in use can be given back |

use std::collections::{BTreeMap, BTreeSet};

use hq_core::{
    Allocation, Amount, CouplingItem, GrantedResource, Piece, Policy, Quantity, Request, ResourceDef, ResourceEntry,
    ResourceKind, ResourceName, WorkerResources,
};
use hq_scheduler::pool::Pools;
use proptest::{collection::vec, option, prelude::*, sample::select, strategy::Union, test_runner::RngSeed};

const NAMES: [&str; 4] = ["cpus", "gpus", "mem", "nics"];
/// Those with indices; which are a worker's first, second and fourth resource.
const GROUPED: [(&str, u16); 3] = [("cpus", 0), ("gpus", 1), ("nics", 3)];

fn name(name: &str) -> ResourceName {
    ResourceName::new(name).unwrap()
}

fn groups(sizes: &[u32]) -> ResourceKind {
    let mut next = 0..;
    ResourceKind::Groups(
        sizes.iter().map(|n| next.by_ref().take(*n as usize).map(|i: u32| i.to_string()).collect()).collect(),
    )
}

fn workers() -> impl Strategy<Value = WorkerResources> {
    let sizes = |most| vec(1u32..=4, 1..=most);
    // Which pair of resources, which groups, how close.
    let item = (0..3usize, 0u16..6, 0u16..6, select(vec![1u16, 128, 256]));
    let kinds = (sizes(6), sizes(5), sizes(3), 1u64..=40_000);
    (kinds, vec(item, 0..=10)).prop_map(|((cpus, gpus, nics, mem), items)| {
        let counts = [&cpus, &gpus, &nics].map(|sizes| sizes.len() as u16);
        let pair = |(pair, a, b, weight): (usize, u16, u16, u16)| {
            let (first, second) = [(0, 1), (0, 2), (1, 2)][pair];
            let can_couple = counts[first] > 1 && counts[second] > 1;
            let ends = [(first, a % counts[first]), (second, b % counts[second])];
            can_couple.then_some((ends.map(|(at, group)| (GROUPED[at].1, group)), weight))
        };
        let items: BTreeMap<_, _> = items.into_iter().filter_map(pair).collect();
        let coupling = items.into_iter().map(|([first, second], weight)| CouplingItem {
            resource1_idx: first.0,
            group1_idx: first.1,
            resource2_idx: second.0,
            group2_idx: second.1,
            weight,
        });
        let kinds = [groups(&cpus), groups(&gpus), ResourceKind::Sum(Amount::from_parts(mem)), groups(&nics)];
        let defs = NAMES.into_iter().zip(kinds).map(|(n, kind)| ResourceDef { name: name(n), kind }).collect();
        WorkerResources::new(defs, coupling.collect()).unwrap()
    })
}

fn quantities() -> impl Strategy<Value = Quantity> {
    let policy =
        select(vec![Policy::Compact, Policy::ForceCompact, Policy::Tight, Policy::ForceTight, Policy::Scatter]);
    let fraction = select(vec![0u64, 0, 0, 1, 1_429, 2_500, 3_333, 5_000, 5_001, 9_999]);
    let amount =
        (prop_oneof![4 => 0u64..=3, 1 => 4u64..=20], fraction, policy).prop_map(|(units, fraction, policy)| {
            let parts = units * Amount::PARTS + fraction;
            Quantity::Amount(Amount::from_parts(parts.max(1)), policy)
        });
    Union::new_weighted(vec![(12, amount.boxed()), (1, Just(Quantity::All).boxed())])
}

fn requests() -> impl Strategy<Value = Request> {
    proptest::array::uniform4(option::of(quantities())).prop_map(|quantities| {
        let lines = NAMES.into_iter().zip(quantities);
        let entry = |(n, quantity): (&str, Option<_>)| Some(ResourceEntry { resource: name(n), quantity: quantity? });
        Request::new(lines.filter_map(entry).collect()).unwrap()
    })
}

/// The naive view of a worker: what is free of each index, by resource and group.
struct Naive<'a> {
    worker: &'a WorkerResources,
    free: BTreeMap<&'static str, Vec<Vec<u64>>>,
    mem: u64,
}

/// Of what is free a request can use all or nothing, or all but the indices that are too small for it.
fn check_useless(pools: &Pools, request: &Request, fits: bool) {
    for n in NAMES {
        let line = request.entries().iter().find(|entry| entry.resource.as_str() == n);
        let expected = match line.map(|entry| entry.quantity) {
            None => 0,
            Some(_) if !fits => pools.free(n).parts(),
            Some(Quantity::All) => 0,
            Some(Quantity::Amount(amount, _)) => {
                let part = amount.fraction();
                let free = (0..64).map(|index| pools.free_of_index(n, index).parts());
                free.filter(|free| *free < Amount::PARTS && (part == 0 || *free < part)).sum()
            }
        };
        assert_eq!(pools.useless(request, n).parts(), expected, "{n} of {pools:?} for {request:?}");
    }
}

impl<'a> Naive<'a> {
    fn new(worker: &'a WorkerResources, held: &[Allocation]) -> Self {
        let idle = |n: &'static str| {
            let sizes = worker.get(n).unwrap().kind.group_sizes();
            (n, sizes.iter().map(|size| vec![Amount::PARTS; *size as usize]).collect())
        };
        let mem = worker.get("mem").unwrap().kind.total().parts();
        let mut naive = Self { worker, free: GROUPED.map(|(n, _)| idle(n)).into_iter().collect(), mem };
        for granted in held.iter().flat_map(|allocation| &allocation.0) {
            match naive.free.get_mut(granted.resource.as_str()) {
                None => naive.mem -= granted.amount.parts(),
                Some(groups) => {
                    for piece in &granted.pieces {
                        let index = groups.iter_mut().flatten().nth(piece.index as usize).unwrap();
                        // Would panic if more were granted than there is.
                        *index = index.checked_sub(piece.amount.parts()).expect("oversubscribed");
                    }
                }
            }
        }
        naive
    }

    fn check(&self, pools: &Pools) {
        assert_eq!(pools.free("mem").parts(), self.mem);
        let mut used = 0;
        for (n, groups) in &self.free {
            for (index, free) in groups.iter().flatten().enumerate() {
                assert_eq!(pools.free_of_index(n, index as u32).parts(), *free, "{n} {index}");
                used += if *n == "cpus" { Amount::PARTS - free } else { 0 };
            }
            let all: Vec<u64> = groups.iter().flatten().copied().collect();
            let whole = all.iter().filter(|free| **free == Amount::PARTS).count() as u64 * Amount::PARTS;
            let part = all.iter().filter(|free| **free < Amount::PARTS).max().copied().unwrap_or_default();
            assert_eq!(pools.free(n).parts(), all.iter().sum::<u64>());
            assert_eq!(pools.largest(n).parts(), whole + part);
        }
        assert_eq!(pools.uses_cpus().parts(), used);
    }

    /// Whole indices in the chosen groups, and the used one that would serve best for the fraction.
    fn offer(&self, n: &str, set: u32, fraction: u64) -> (u64, Option<u64>) {
        let chosen =
            self.free[n].iter().enumerate().filter(|(at, _)| set & (1 << at) != 0).flat_map(|(_, group)| group);
        let whole = chosen.clone().filter(|free| **free == Amount::PARTS).count() as u64;
        let part = chosen.filter(|free| **free < Amount::PARTS && fraction > 0 && **free >= fraction).min();
        (whole, part.copied())
    }

    /// The smallest sets of groups that suffice.
    fn least_sets(&self, n: &str, amount: Amount) -> Vec<u32> {
        let suffices = |set: &u32| {
            let (whole, part) = self.offer(n, *set, amount.fraction());
            whole >= amount.whole() + u64::from(amount.fraction() > 0 && part.is_none())
        };
        let sets: Vec<u32> = (0..1 << self.free[n].len()).filter(suffices).collect();
        let least = sets.iter().map(|set| set.count_ones()).min();
        sets.into_iter().filter(|set| Some(set.count_ones()) == least).collect()
    }

    fn weight(&self, sets: &BTreeMap<&str, u32>) -> u64 {
        let has = |resource: u16, group: u16| {
            let n = GROUPED.iter().find(|(_, at)| *at == resource).unwrap().0;
            sets.get(n).is_some_and(|set| set & (1 << group) != 0)
        };
        let used =
            |item: &&CouplingItem| has(item.resource1_idx, item.group1_idx) && has(item.resource2_idx, item.group2_idx);
        self.worker.coupling().iter().filter(used).map(|item| u64::from(item.weight)).sum()
    }

    /// How bad a choice of groups is, the most important first.
    fn badness(&self, request: &Request, sets: &BTreeMap<&'static str, u32>) -> (u64, u32, u64, u64) {
        let mut badness = (u64::MAX - self.weight(sets), 0, 0, 0);
        for (n, amount, _) in choosing(request) {
            let (whole, part) = self.offer(n, sets[n], amount.fraction());
            badness.1 += u32::from(amount.fraction() > 0 && part.is_none());
            badness.2 += whole;
            badness.3 += part.unwrap_or_default();
        }
        badness
    }

    /// All combinations of the smallest sets for the lines that choose.
    fn combinations(&self, request: &Request) -> Vec<BTreeMap<&'static str, u32>> {
        let mut all = vec![BTreeMap::new()];
        for (n, amount, _) in choosing(request) {
            let sets = self.least_sets(n, amount);
            let with = |sofar: BTreeMap<&'static str, u32>| {
                sets.iter()
                    .map(move |set| sofar.iter().map(|(n, set)| (*n, *set)).chain([(n, *set)]).collect())
                    .collect::<Vec<_>>()
            };
            all = all.into_iter().flat_map(with).collect();
        }
        all
    }

    /// Whether the request fits if every policy were soft.
    fn fits_softly(&self, request: &Request) -> bool {
        request.entries().iter().all(|entry| {
            let n = entry.resource.as_str();
            let total = self.worker.get(n).unwrap().kind.total();
            match (entry.quantity, n) {
                (Quantity::All, "mem") => self.mem == total.parts(),
                (Quantity::Amount(amount, _), "mem") => amount.parts() <= self.mem,
                (Quantity::All, _) => self.free[n].iter().flatten().all(|free| *free == Amount::PARTS),
                (Quantity::Amount(amount, _), _) => !self.least_sets(n, amount).is_empty(),
            }
        })
    }

    /// Whether the strict lines, and what is coupled with them, would be served no better by the idle worker.
    fn strict_accepts(&self, request: &Request) -> bool {
        let idle = Naive::new(self.worker, &[]);
        let strict: Vec<_> = choosing(request).into_iter().filter(|(_, _, strict)| *strict).collect();
        let size = |naive: &Naive<'_>, n, amount| naive.least_sets(n, amount)[0].count_ones();
        let concerned = self.coupled_with_strict(request);
        let weight = |naive: &Naive<'_>, mut sets: BTreeMap<&'static str, u32>| {
            sets.retain(|n, _| concerned.contains(n));
            naive.weight(&sets)
        };
        let best = |naive: &Naive<'_>| naive.combinations(request).into_iter().map(|sets| weight(naive, sets)).max();
        strict.iter().all(|(n, amount, _)| size(self, n, *amount) <= size(&idle, n, *amount))
            && (strict.is_empty() || best(self) >= best(&idle))
    }

    /// The lines that are strict, or coupled with such a line directly or through others.
    fn coupled_with_strict(&self, request: &Request) -> BTreeSet<&'static str> {
        let lines = choosing(request);
        let mut reached: BTreeSet<_> = lines.iter().filter(|(_, _, strict)| *strict).map(|(n, _, _)| *n).collect();
        let known = |resource: u16| GROUPED.iter().find(|(_, at)| *at == resource).map(|(n, _)| *n);
        let is_line = |n: &str| lines.iter().any(|(line, _, _)| *line == n);
        for _ in 0..GROUPED.len() {
            for item in self.worker.coupling() {
                let ends = [known(item.resource1_idx).unwrap(), known(item.resource2_idx).unwrap()];
                if ends.iter().all(|n| is_line(n)) && ends.iter().any(|n| reached.contains(n)) {
                    reached.extend(ends);
                }
            }
        }
        reached
    }

    /// How many indices come from each group of a resource, and how many of these were whole.
    fn taken(&self, granted: &GrantedResource) -> Vec<(usize, usize)> {
        let mut start = 0;
        let of = |group: &Vec<u64>| {
            let range = start..start + group.len() as u32;
            start = range.end;
            let pieces = || granted.pieces.iter().filter(|piece| range.contains(&piece.index));
            let whole = |piece: &&Piece| group[(piece.index - range.start) as usize] == Amount::PARTS;
            (pieces().count(), pieces().filter(whole).count())
        };
        self.free[granted.resource.as_str()].iter().map(of).collect()
    }

    /// Within the groups that it uses, or all for scatter, a line takes one of each in turn, or fills one after the other.
    fn check_spread(&self, request: &Request, allocation: &Allocation) {
        for (entry, granted) in request.entries().iter().zip(&allocation.0) {
            let (Quantity::Amount(_, policy), Some(groups)) = (entry.quantity, self.free.get(entry.resource.as_str()))
            else {
                continue;
            };
            let (touched, taken): (Vec<usize>, Vec<usize>) = self.taken(granted).into_iter().unzip();
            let free = groups.iter().map(|group| group.iter().filter(|free| **free == Amount::PARTS).count());
            let free: Vec<usize> = free.collect();
            let used = |at: &usize| policy == Policy::Scatter || touched[*at] > 0;
            let used: Vec<usize> = (0..free.len()).filter(used).collect();
            if matches!(policy, Policy::Tight | Policy::ForceTight) {
                let (mut left, mut open, mut expected) = (taken.iter().sum::<usize>(), used.clone(), vec![]);
                while left > 0 {
                    let enough = open.iter().filter(|at| free[**at] >= left).min_by_key(|at| free[**at]);
                    let next = *enough.or_else(|| open.iter().max_by_key(|at| free[**at])).unwrap();
                    open.retain(|at| *at != next);
                    expected.push(free[next].min(left));
                    left -= free[next].min(left);
                }
                let mut found: Vec<usize> = used.iter().map(|at| taken[*at]).filter(|n| *n > 0).collect();
                found.sort_unstable_by(|a, b| b.cmp(a));
                expected.sort_unstable_by(|a, b| b.cmp(a));
                assert_eq!(found, expected, "{entry:?} of {free:?}");
            } else {
                let even = |a: usize, b: usize| taken[a] <= taken[b] + 1 || taken[b] == free[b];
                assert!(used.iter().all(|a| used.iter().all(|b| even(*a, *b))), "{entry:?}: {taken:?} of {free:?}");
            }
        }
    }
}

/// The lines that choose groups: resource, amount, strict.
fn choosing(request: &Request) -> Vec<(&'static str, Amount, bool)> {
    let line = |entry: &ResourceEntry| {
        let n = NAMES.into_iter().find(|n| *n == entry.resource.as_str() && *n != "mem")?;
        let Quantity::Amount(amount, policy) = entry.quantity else { return None };
        let strict = matches!(policy, Policy::ForceCompact | Policy::ForceTight);
        (policy != Policy::Scatter).then_some((n, amount, strict))
    };
    request.entries().iter().filter_map(line).collect()
}

fn softened(request: &Request) -> Request {
    let soften = |entry: &ResourceEntry| {
        let quantity = match entry.quantity {
            Quantity::Amount(amount, Policy::ForceCompact) => Quantity::Amount(amount, Policy::Compact),
            Quantity::Amount(amount, Policy::ForceTight) => Quantity::Amount(amount, Policy::Tight),
            other => other,
        };
        ResourceEntry { resource: entry.resource.clone(), quantity }
    };
    Request::new(request.entries().iter().map(soften).collect()).unwrap()
}

fn count(pools: &Pools, request: &Request, max: u32) -> u32 {
    let mut rest = pools.clone();
    (0..max).take_while(|_| rest.allocate(request).is_some_and(|allocation| rest.take(&allocation))).count() as u32
}

/// The allocation is what was asked for: amounts, whole indices ascending and the partial one last.
fn check_answer(worker: &WorkerResources, request: &Request, allocation: &Allocation) {
    assert_eq!(allocation.0.len(), request.entries().len());
    for (entry, granted) in request.entries().iter().zip(&allocation.0) {
        let def = worker.get(entry.resource.as_str()).unwrap();
        let amount = match entry.quantity {
            Quantity::All => def.kind.total(),
            Quantity::Amount(amount, _) => amount,
        };
        assert_eq!((&entry.resource, amount), (&granted.resource, granted.amount));
        if matches!(def.kind, ResourceKind::Sum(_)) {
            assert!(granted.pieces.is_empty());
            continue;
        }
        let (whole, partial) = granted.pieces.split_at(amount.whole() as usize);
        assert!(whole.iter().all(|piece| piece.amount == Amount::ONE));
        assert!(whole.windows(2).all(|pair| pair[0].index < pair[1].index));
        let parts: Vec<u64> = partial.iter().map(|piece| piece.amount.parts()).collect();
        let expected: Vec<u64> = [amount.fraction()].into_iter().filter(|part| *part > 0).collect();
        assert_eq!(parts, expected);
    }
}

/// The sets of groups that an allocation lies in, for the lines that choose.
fn used_sets(worker: &WorkerResources, request: &Request, allocation: &Allocation) -> BTreeMap<&'static str, u32> {
    let set = |n: &'static str| {
        let granted = allocation.0.iter().find(|granted| granted.resource.as_str() == n).unwrap();
        let sizes = worker.get(n).unwrap().kind.group_sizes();
        let group = |index: u32| (0..sizes.len()).find(|at| index < sizes[..=*at].iter().sum()).unwrap();
        granted.pieces.iter().fold(0, |set, piece| set | 1 << group(piece.index))
    };
    choosing(request).into_iter().map(|(n, _, _)| (n, set(n))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, rng_seed: RngSeed::Fixed(2), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence(worker in workers(), steps in vec((requests(), any::<prop::sample::Index>(), 0..3), 1..25)) {
        let initial = Pools::new(&worker);
        let mut pools = initial.clone();
        let mut held: Vec<Allocation> = vec![];
        for (request, which, kind) in steps {
            if kind == 0 && !held.is_empty() {
                let allocation = held.swap_remove(which.index(held.len()));
                prop_assert!(pools.release(&allocation));
                // It may be free in part through another one's share, but never all of it.
                let mut again = pools.clone();
                prop_assert!(allocation.0.is_empty() || again.take(&allocation));
            } else {
                let naive = Naive::new(&worker, &held);
                let answer = pools.allocate(&request);
                prop_assert_eq!(answer.is_some(), naive.fits_softly(&request) && naive.strict_accepts(&request));
                prop_assert_eq!(answer.is_some(), pools.fits(&request));
                check_useless(&pools, &request, answer.is_some());
                prop_assert_eq!(initial.allocate(&request).is_some(), pools.could_ever(&request));
                prop_assert_eq!(pools.fits_count(&request, 7), count(&pools, &request, 7));
                if let Some(allocation) = answer {
                    check_answer(&worker, &request, &allocation);
                    naive.check_spread(&request, &allocation);
                    prop_assert!(pools.take(&allocation));
                    held.push(allocation);
                }
            }
            Naive::new(&worker, &held).check(&pools);
            prop_assert_eq!(pools.is_idle(), held.iter().all(|allocation| allocation.0.is_empty()));
        }
        for allocation in held {
            prop_assert!(pools.release(&allocation));
        }
        prop_assert_eq!(pools.signature(), initial.signature());
        prop_assert_eq!(pools, initial);
    }

    #[test]
    fn groups_are_best(worker in workers(), before in vec(requests(), 0..8), after in vec(requests(), 1..6)) {
        let mut pools = Pools::new(&worker);
        let mut held = vec![];
        for request in before {
            let request = softened(&request);
            if let Some(allocation) = pools.allocate(&request) {
                prop_assert!(pools.take(&allocation));
                held.push(allocation);
            }
        }
        let naive = Naive::new(&worker, &held);
        for request in after {
            let strict = pools.allocate(&request);
            let soft = pools.allocate(&softened(&request));
            prop_assert!(strict.is_none() || soft == strict, "a soft form gives what the strict one accepts");
            if let Some(allocation) = soft {
                let request = softened(&request);
                let chosen = used_sets(&worker, &request, &allocation);
                let best = naive.combinations(&request).iter().map(|sets| naive.badness(&request, sets)).min();
                for (n, amount, _) in choosing(&request) {
                    prop_assert_eq!(chosen[n].count_ones(), naive.least_sets(n, amount)[0].count_ones());
                }
                prop_assert_eq!(Some(naive.badness(&request, &chosen)), best);
            }
        }
    }
}

fn granted(resource: &str, amount: u64, pieces: &[(u32, u64)]) -> GrantedResource {
    let piece = |(index, amount): &(u32, u64)| Piece { index: *index, amount: Amount::from_parts(*amount) };
    let pieces = pieces.iter().map(piece).collect();
    GrantedResource { resource: name(resource), amount: Amount::from_parts(amount), pieces }
}

#[test]
fn nonsense_changes_nothing() {
    let defs = vec![
        ResourceDef { name: name("cpus"), kind: groups(&[2, 2]) },
        ResourceDef { name: name("mem"), kind: ResourceKind::Sum(Amount::units(2)) },
    ];
    let mut pools = Pools::new(&WorkerResources::new(defs, vec![]).unwrap());
    // In use: index 0, a quarter of index 1, 1.5 mem.
    let mine = Allocation(vec![granted("cpus", 12_500, &[(0, 10_000), (1, 2_500)]), granted("mem", 15_000, &[])]);
    assert!(pools.take(&mine));
    let state = pools.clone();
    let good = granted("mem", 100, &[]);
    for (what, wrong) in [
        ("unknown index", granted("cpus", 10_000, &[(4, 10_000)])),
        ("huge index", granted("cpus", 10_000, &[(u32::MAX, 10_000)])),
        ("busy index", granted("cpus", 10_000, &[(0, 10_000)])),
        ("part of a busy index", granted("cpus", 1, &[(0, 1)])),
        ("all of a partly used index", granted("cpus", 10_000, &[(1, 10_000)])),
        ("too large a part", granted("cpus", 7_501, &[(1, 7_501)])),
        ("more than a unit", granted("cpus", 20_000, &[(2, 20_000)])),
        ("doubled index", granted("cpus", 20_000, &[(2, 10_000), (2, 10_000)])),
        ("doubled part", granted("cpus", 12_000, &[(2, 5_000), (3, 2_000), (2, 5_000)])),
        ("amounts that do not add up", granted("cpus", 20_000, &[(2, 10_000)])),
        ("amounts that overflow", granted("cpus", 0, &[(2, u64::MAX), (3, 1)])),
        ("piece of nothing", granted("cpus", 10_000, &[(2, 10_000), (3, 0)])),
        ("no pieces", granted("cpus", 10_000, &[])),
        ("nothing", granted("cpus", 0, &[])),
        ("unknown resource", granted("gpus", 10_000, &[(0, 10_000)])),
        ("too much of a sum", granted("mem", 5_001, &[])),
        ("absurdly much of a sum", granted("mem", u64::MAX, &[])),
        ("nothing of a sum", granted("mem", 0, &[])),
        ("pieces of a sum", granted("mem", 5_000, &[(0, 5_000)])),
    ] {
        let alone = Allocation(vec![wrong.clone()]);
        assert!(!pools.take(&alone), "{what}");
        let first =
            if wrong.resource.as_str() == "mem" { granted("cpus", 10_000, &[(3, 10_000)]) } else { good.clone() };
        assert!(!pools.take(&Allocation(vec![first, wrong])), "{what}, after something sound");
        assert_eq!(pools, state, "{what}");
    }
    assert!(!pools.take(&Allocation(vec![good.clone(), good.clone()])), "doubled resource");
    for (what, wrong) in [
        ("free index", granted("cpus", 10_000, &[(2, 10_000)])),
        ("more of an index than is in use", granted("cpus", 2_501, &[(1, 2_501)])),
        ("more of a sum than is in use", granted("mem", 15_001, &[])),
        ("absurdly much of a sum", granted("mem", u64::MAX, &[])),
        ("unknown resource", granted("gpus", 10_000, &[(0, 10_000)])),
    ] {
        assert!(!pools.release(&Allocation(vec![wrong])), "{what}");
        assert_eq!(pools, state, "{what}");
    }
    // Pieces in any order are sound, and so is an empty allocation.
    let rest = Allocation(vec![granted("mem", 5_000, &[]), granted("cpus", 20_000, &[(3, 10_000), (2, 10_000)])]);
    assert!(pools.take(&rest) && pools.release(&rest) && pools.take(&Allocation::default()));
    assert_eq!(pools, state);
    assert!(pools.release(&mine));
    assert!(pools.is_idle() && !pools.release(&mine));
}

#[test]
fn gangs_take_idle_workers() {
    let mut pools = Pools::new(&WorkerResources::cpus(2).unwrap());
    let gang = Request::gang(3);
    assert_eq!(pools.allocate(&gang), Some(Allocation::default()));
    assert_eq!((pools.fits_count(&gang, 5), pools.could_ever(&gang)), (1, true));
    let one = pools.allocate(&Request::cpus(1).unwrap()).unwrap();
    assert!(pools.take(&one));
    assert_eq!((pools.allocate(&gang), pools.fits_count(&gang, 5), pools.could_ever(&gang)), (None, 0, true));
}

#[test]
fn signatures_forget_which_index() {
    let (mut a, mut b) =
        (Pools::new(&WorkerResources::cpus(4).unwrap()), Pools::new(&WorkerResources::cpus(4).unwrap()));
    assert!(a.take(&Allocation(vec![granted("cpus", 12_500, &[(0, 10_000), (3, 2_500)])])));
    assert!(b.take(&Allocation(vec![granted("cpus", 12_500, &[(2, 10_000), (1, 2_500)])])));
    assert_ne!(a, b);
    assert_eq!(a.signature(), b.signature());
    assert_ne!(a.signature(), Pools::new(&WorkerResources::cpus(4).unwrap()).signature());
    assert_ne!(
        Pools::new(&WorkerResources::cpus(4).unwrap()).signature(),
        Pools::new(&WorkerResources::cpus(5).unwrap()).signature()
    );
}

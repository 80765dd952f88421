//! I1, I6, I10, I16 and I21 against brute force: all sets of indices of small workers.

use std::collections::BTreeSet;

use hq_core::{
    Allocation, Amount, GrantedResource, Piece, Policy, Quantity, Request, ResourceDef, ResourceKind, ResourceName,
    Rng, WorkerResources,
};
use hq_scheduler::{Scheduler, pool::Pools};
use hq_sim::invariants::case::{Case, Decider, Manner, Placed, worker_id};

const CASES: u64 = 600;

/// What is free of a worker: of each resource its groups of indices, or the sum as one index of any size.
#[derive(Clone, Debug)]
struct Free {
    lines: Vec<(String, bool, Vec<Vec<u64>>)>,
}

impl Free {
    fn idle(worker: &WorkerResources) -> Self {
        let line = |def: &ResourceDef| match &def.kind {
            ResourceKind::Sum(sum) => (def.name.to_string(), true, vec![vec![sum.parts()]]),
            kind => {
                let groups = kind.group_sizes().into_iter().map(|size| vec![Amount::PARTS; size as usize]);
                (def.name.to_string(), false, groups.collect())
            }
        };
        Self { lines: worker.resources().iter().map(line).collect() }
    }

    fn line(&self, name: &str) -> Option<(bool, &[Vec<u64>])> {
        self.lines.iter().find(|line| line.0 == name).map(|(_, is_sum, groups)| (*is_sum, &groups[..]))
    }

    /// I1: fails where more is granted than there is.
    fn take(&mut self, allocation: &Allocation) -> Result<(), String> {
        for granted in &allocation.0 {
            let line = self.lines.iter_mut().find(|line| line.0 == granted.resource.as_str());
            let (name, is_sum, groups) = line.ok_or_else(|| format!("there is no {}", granted.resource))?;
            let pieces: Vec<(usize, u64)> = if *is_sum {
                vec![(0, granted.amount.parts())]
            } else {
                granted.pieces.iter().map(|piece| (piece.index as usize, piece.amount.parts())).collect()
            };
            if pieces.iter().map(|(_, parts)| parts).sum::<u64>() != granted.amount.parts() {
                return Err(format!("the pieces of {name} are not {}", granted.amount));
            }
            for (index, parts) in pieces {
                let free =
                    groups.iter_mut().flatten().nth(index).ok_or_else(|| format!("no index {index} of {name}"))?;
                *free = free.checked_sub(parts).ok_or_else(|| format!("index {index} of {name} is given twice"))?;
            }
        }
        Ok(())
    }

    /// The least number of groups over all ways to give so much of a resource; none where there is no way.
    fn fewest(&self, name: &str, quantity: Quantity, idle: &Self) -> Option<usize> {
        let (is_sum, groups) = self.line(name)?;
        let amount = match quantity {
            Quantity::All => return (self.line(name) == idle.line(name)).then_some(groups.len()),
            Quantity::Amount(amount, _) => amount,
        };
        if is_sum {
            return (groups[0][0] >= amount.parts()).then_some(1);
        }
        let free: Vec<(usize, u64)> =
            groups.iter().enumerate().flat_map(|(at, group)| group.iter().map(move |free| (at, *free))).collect();
        let ways = (0u32..1 << free.len()).filter(|set| u64::from(set.count_ones()) == amount.whole());
        let whole = ways.filter(|set| (0..free.len()).all(|i| set & (1 << i) == 0 || free[i].1 == Amount::PARTS));
        let all_ways = whole.flat_map(|set| {
            let used: BTreeSet<usize> = (0..free.len()).filter(|i| set & (1 << i) != 0).map(|i| free[i].0).collect();
            let parts = (0..free.len()).filter(move |i| set & (1 << i) == 0);
            let part = parts.filter(|i| free[*i].1 >= amount.fraction()).map(|i| free[i].0);
            let last: Vec<Option<usize>> = if amount.fraction() > 0 { part.map(Some).collect() } else { vec![None] };
            last.into_iter().map(move |last| used.iter().copied().chain(last).collect::<BTreeSet<usize>>().len())
        });
        all_ways.min()
    }

    /// Whether a request has a place here: by a strict policy only where it is as good as on the idle worker.
    fn fits(&self, request: &Request, idle: &Self) -> bool {
        request.entries().iter().all(|entry| {
            let here = self.fewest(entry.resource.as_str(), entry.quantity, idle);
            match entry.quantity {
                Quantity::Amount(_, Policy::ForceCompact | Policy::ForceTight) => {
                    here.is_some() && here == idle.fewest(entry.resource.as_str(), entry.quantity, idle)
                }
                _ => here.is_some(),
            }
        })
    }
}

/// A case without coupling: that is for the properties of the pools to show.
fn case(seed: u64) -> Case {
    let mut case = Case::random(&mut Rng::new(seed));
    for worker in &mut case.workers {
        *worker = WorkerResources::new(worker.resources().to_vec(), vec![]).unwrap();
    }
    case.flat()
}

/// Looks at what was decided.
fn check(case: &Case, core: &Scheduler, placed: &[Placed]) -> Result<(), String> {
    let idle: Vec<Free> = case.workers.iter().map(Free::idle).collect();
    let mut free = idle.clone();
    for one in placed {
        free[one.worker].take(&one.allocation).map_err(|what| format!("I1: {what}"))?;
    }
    for (kind, tasks) in case.tasks.iter().enumerate() {
        let started = placed.iter().filter(|one| one.kind == kind).count();
        for (worker, (free, idle)) in free.iter().zip(&idle).enumerate() {
            let pools = core.pools(worker_id(worker)).ok_or("a worker is not there")?;
            for request in tasks.variants.iter() {
                let fits = free.fits(request, idle);
                let allocation = pools.allocate(request);
                if allocation.is_some() != fits {
                    return Err(format!("I6: {request:?} on worker {worker}: {allocation:?}, by brute force {fits}"));
                }
                for granted in allocation.iter().flat_map(|allocation| &allocation.0) {
                    is_local(free, idle, request, granted)?;
                }
                if fits && started < tasks.count as usize {
                    return Err(format!("I16: a task of kind {kind} waits and fits worker {worker}"));
                }
                if Pools::new(&case.workers[worker]).could_ever(request) != idle.fits(request, idle) {
                    return Err(format!("I21: {request:?} on worker {worker} when it is idle"));
                }
            }
        }
    }
    Ok(())
}

fn is_local(free: &Free, idle: &Free, request: &Request, granted: &GrantedResource) -> Result<(), String> {
    let name = granted.resource.as_str();
    let entry = request.entries().iter().find(|entry| entry.resource.as_str() == name);
    let Some(Quantity::Amount(amount, policy)) = entry.map(|entry| entry.quantity) else { return Ok(()) };
    let (Some((false, groups)), true) = (free.line(name), policy != Policy::Scatter) else { return Ok(()) };
    let group_of = |index: usize| {
        let ends = groups.iter().scan(0, |end, group| {
            *end += group.len();
            Some(*end)
        });
        ends.take_while(|end| *end <= index).count()
    };
    let used: BTreeSet<usize> = granted.pieces.iter().map(|piece| group_of(piece.index as usize)).collect();
    let fewest = free.fewest(name, Quantity::Amount(amount, policy), idle);
    if Some(used.len()) != fewest {
        return Err(format!("I10: {amount} {name} in groups {used:?}, by brute force {fewest:?}"));
    }
    Ok(())
}

#[test]
fn small_cases_against_brute_force() {
    let all: Vec<Decider> = Decider::all(Scheduler::new).into_iter().filter(|by| by.order == "priority").collect();
    let (mut started, mut waiting) = (0, 0);
    for seed in 0..CASES {
        let (case, by) = (case(seed), &all[seed as usize % all.len()]);
        let (core, placed) = case.decide(by, Manner::default()).unwrap();
        check(&case, &core, &placed).unwrap_or_else(|what| panic!("seed {seed}, {by:?}: {what}\n{case:?}\n{placed:?}"));
        started += placed.len();
        waiting += case.tasks.iter().map(|tasks| tasks.count as usize).sum::<usize>() - placed.len();
    }
    assert!(started > CASES as usize && waiting > CASES as usize / 4, "{started} start, {waiting} wait");
}

#[test]
fn the_oracle_can_fail() {
    let by = &Decider::all(Scheduler::new)[0];
    let found = |spoil: fn(&mut Vec<Placed>)| {
        let all = (0..CASES).filter_map(|seed| {
            let case = case(seed);
            let (core, mut placed) = case.decide(by, Manner::default()).ok()?;
            spoil(&mut placed);
            check(&case, &core, &placed).err()
        });
        all.map(|what| what.chars().take_while(|c| *c != ':').collect::<String>()).collect::<BTreeSet<String>>()
    };
    let twice = found(|placed| placed.extend(placed.first().cloned()));
    assert!(twice.contains("I1"), "{twice:?}");
    let one_less = found(|placed| _ = placed.pop());
    assert!(one_less.contains("I6") && one_less.contains("I16"), "{one_less:?}");
    let groups = WorkerResources::new(vec![ResourceDef::parse_cpus("2x2").unwrap()], vec![]).unwrap();
    let free = Free::idle(&groups);
    let spread = GrantedResource {
        resource: ResourceName::cpus(),
        amount: Amount::units(2),
        pieces: [0, 2].map(|index| Piece { index, amount: Amount::ONE }).to_vec(),
    };
    assert!(is_local(&free, &free, &Request::cpus(2).unwrap(), &spread).unwrap_err().contains("I10"));
}

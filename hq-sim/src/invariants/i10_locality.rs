use std::collections::{BTreeMap, BTreeSet};

use hq_core::{Allocation, Amount, Fact, GrantId, Policy, Quantity, Request, ResourceEntry, WorkerConfig, WorkerId};
use hq_scheduler::pool::Pools;

use super::{Invariant, Sample, Step, What, waiting::waiting};
use crate::model::Model;

/// I10: a grant of a resource with groups lies in the fewest that have enough now, of a strict policy in as few as on an idle
/// worker; resources that can share a coupled group do; and what the strict form accepts, the soft one does not refuse.
///
/// Facts of one round do not come in the order in which it decided: a soft grant is held against what all others of its step
/// leave free.
#[derive(Debug, Default)]
pub struct Locality {
    sample: Sample,
    opened: Vec<GrantId>,
    /// What was given back in this step, maybe after the decisions.
    closed: Vec<(WorkerId, Allocation)>,
}

/// Free states change slowly: one step in so many is looked at for what could be granted.
const EVERY: u64 = 32;

impl Invariant for Locality {
    fn name(&self) -> &'static str {
        "I10 locality"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        match step.what {
            What::Fact(record) => match &record.fact {
                Fact::GrantOpened { grant, .. } => self.opened.push(*grant),
                Fact::GrantClosed { grant } => {
                    let lane = step.model.grants.get(grant);
                    self.closed.extend(lane.and_then(|lane| Some((*lane.workers.first()?, lane.allocation.clone()))));
                }
                _ => {}
            },
            What::Settled(core) => {
                let closed = std::mem::take(&mut self.closed);
                for grant in std::mem::take(&mut self.opened) {
                    check_grant(step.model, grant, &closed).map_err(|what| format!("grant {grant}: {what}"))?;
                }
                if !self.sample.is_due(EVERY) {
                    return Ok(());
                }
                for needs in waiting(step.model) {
                    for request in needs.variants().iter() {
                        let pools = step.model.workers.keys().filter_map(|id| core.pools(*id));
                        pools.into_iter().try_for_each(|pools| soft_is_easier(pools, request))?;
                    }
                }
            }
            What::Restarted(_) => {
                self.opened.clear();
                self.closed.clear();
            }
            _ => {}
        }
        Ok(())
    }
}

fn check_grant(model: &Model, id: GrantId, closed: &[(WorkerId, Allocation)]) -> Result<(), String> {
    let Some(lane) = model.grants.get(&id) else { return Ok(()) };
    let task = lane.tasks.first().and_then(|task| model.tasks.get(task));
    let worker = lane.workers.first().and_then(|id| Some((*id, model.workers.get(id)?)));
    let (Some(request), Some((on, worker))) = (task.and_then(|task| task.request(lane.variant)), worker) else {
        return Ok(());
    };
    let mut free = idle(&worker.config);
    let others = model.grants_of(on).filter(|(other, _)| *other != id).map(|(_, other)| &other.allocation);
    let closed = closed.iter().filter(|(worker, _)| *worker == on).map(|(_, allocation)| allocation);
    others.chain(closed).for_each(|allocation| take(&mut free, allocation));
    check(&worker.config, &free, request, &lane.allocation)
}

/// What is free of each index, by resource and group.
type FreeIndices = BTreeMap<String, Vec<Vec<u64>>>;

fn take(free: &mut FreeIndices, allocation: &Allocation) {
    for granted in &allocation.0 {
        let groups = free.get_mut(granted.resource.as_str());
        let mut indices: Vec<&mut u64> = groups.into_iter().flatten().flatten().collect();
        for piece in &granted.pieces {
            if let Some(index) = indices.get_mut(piece.index as usize) {
                **index = index.saturating_sub(piece.amount.parts());
            }
        }
    }
}

/// All indices of a worker, free.
fn idle(config: &WorkerConfig) -> FreeIndices {
    let defs = config.resources.resources().iter();
    let whole = |size: u32| vec![Amount::PARTS; size as usize];
    defs.map(|def| (def.name.to_string(), def.kind.group_sizes().into_iter().map(whole).collect())).collect()
}

/// Whether an allocation is as local as it can be where so much is free.
///
/// # Errors
/// One line: which resource is spread further than it has to be.
fn check(config: &WorkerConfig, free: &FreeIndices, request: &Request, allocation: &Allocation) -> Result<(), String> {
    let whole = idle(config);
    // Coupling may be worth a group more; how much is told by the tables of the core.
    let is_coupled = !config.resources.coupling().is_empty();
    let mut single: BTreeMap<&str, (usize, BTreeSet<usize>)> = BTreeMap::new();
    for entry in request.entries() {
        let name = entry.resource.as_str();
        let (Quantity::Amount(amount, policy), Some(groups)) = (entry.quantity, free.get(name)) else { continue };
        let strict = matches!(policy, Policy::ForceCompact | Policy::ForceTight);
        if groups.len() < 2 || policy == Policy::Scatter {
            continue;
        }
        let used = groups_of(groups, allocation, name);
        let least = fewest(groups, amount);
        let most = if strict { whole.get(name).and_then(|groups| fewest(groups, amount)) } else { least };
        if !is_coupled && most.is_some_and(|most| used.len() > most) {
            return Err(format!("{amount} {name} lie in groups {used:?}; {most:?} are enough"));
        }
        if least == Some(1) && used.len() == 1 {
            let fit = (0..groups.len()).filter(|group| fewest(&groups[*group..=*group], amount).is_some());
            single.insert(name, (*used.first().unwrap_or(&0), fit.collect()));
        }
    }
    share_groups(config, &single)
}

/// Two resources of one group each lie in coupled groups where there are such with room.
fn share_groups(config: &WorkerConfig, single: &BTreeMap<&str, (usize, BTreeSet<usize>)>) -> Result<(), String> {
    let defs = config.resources.resources();
    for item in config.resources.coupling() {
        let (a, b) = (usize::from(item.resource1_idx), usize::from(item.resource2_idx));
        let names = defs.get(a).zip(defs.get(b)).map(|(a, b)| (a.name.as_str(), b.name.as_str()));
        let Some((a, b)) = names else { continue };
        let (Some((used_a, fit_a)), Some((used_b, fit_b)), 2) = (single.get(a), single.get(b), single.len()) else {
            continue;
        };
        let (group_a, group_b) = (usize::from(item.group1_idx), usize::from(item.group2_idx));
        let could = fit_a.contains(&group_a) && fit_b.contains(&group_b);
        let coupled = config
            .resources
            .coupling()
            .iter()
            .any(|item| (usize::from(item.group1_idx), usize::from(item.group2_idx)) == (*used_a, *used_b));
        if could && !coupled {
            return Err(format!(
                "{a} in group {used_a} and {b} in group {used_b}, and {group_a} and {group_b} are near"
            ));
        }
    }
    Ok(())
}

fn groups_of(groups: &[Vec<u64>], allocation: &Allocation, name: &str) -> BTreeSet<usize> {
    let pieces = allocation.0.iter().filter(|granted| granted.resource.as_str() == name).flat_map(|g| &g.pieces);
    let group_of = |index: usize| {
        let mut end = 0;
        groups.iter().position(|group| {
            end += group.len();
            index < end
        })
    };
    pieces.filter_map(|piece| group_of(piece.index as usize)).collect()
}

/// The fewest groups that hold so much together, by trying all sets of them.
fn fewest(groups: &[Vec<u64>], amount: Amount) -> Option<usize> {
    let sets = 1u32..1 << groups.len().min(16);
    let holds = |set: &u32| {
        let chosen = (0..groups.len()).filter(|group| set & (1 << group) != 0).flat_map(|group| &groups[group]);
        let whole = chosen.clone().filter(|free| **free == Amount::PARTS).count() as u64;
        let part = chosen.into_iter().any(|free| *free < Amount::PARTS && *free >= amount.fraction());
        whole >= amount.whole() + u64::from(amount.fraction() > 0 && !part)
    };
    sets.filter(holds).map(|set| set.count_ones() as usize).min()
}

fn soft_is_easier(pools: &Pools, request: &Request) -> Result<(), String> {
    let soft = |entry: &ResourceEntry| {
        let quantity = match entry.quantity {
            Quantity::Amount(amount, Policy::ForceCompact) => Quantity::Amount(amount, Policy::Compact),
            Quantity::Amount(amount, Policy::ForceTight) => Quantity::Amount(amount, Policy::Tight),
            other => other,
        };
        ResourceEntry { resource: entry.resource.clone(), quantity }
    };
    let Ok(easier) = Request::new(request.entries().iter().map(soft).collect()) else { return Ok(()) };
    if pools.allocate(request).is_some() && pools.allocate(&easier).is_none() {
        return Err(format!("{request:?} is accepted, and its soft form is refused"));
    }
    Ok(())
}

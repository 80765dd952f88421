//! Few tasks for few workers: all ways to share them out.

use std::{collections::BTreeMap, rc::Rc};

use super::{
    assign::{May, Site},
    fill::fit,
    prices::Shares,
    search::{Set, all_sets},
};

/// So many workers, numbers of tasks that may be left, and comparisons at most.
const SITES_MAX: usize = 16;
const STATES_MAX: u64 = 512;
const STEPS_MAX: u64 = 1 << 16;

/// How many of each way of each site make the most valuable whole, and what that is worth; nothing where there are too many to compare. Of equal ones
/// that which gives the first site most, then the second, and so on.
pub(super) fn share_out(sites: &[Site<'_>], left: &[u64], may: &May<'_>) -> Option<(Shares, u64)> {
    if !(2..=SITES_MAX).contains(&sites.len()) {
        return None;
    }
    let mut sets: Vec<Vec<Share>> = Vec::with_capacity(sites.len());
    for (at, site) in sites.iter().enumerate() {
        let fits = site.ways.iter().map(|way| fit(&site.pools, way, left, site.most));
        let all = all_sets(&site.pools, &site.ways, fits, left, site.most, &|class, pools| may(at, class, pools))?;
        sets.push(best_of_each(site, all, left.len()));
    }
    let states = States::new(&sets, left)?;
    let all: u64 = sets.iter().map(|sets| sets.len() as u64).sum();
    if all * states.count > STEPS_MAX {
        return None;
    }
    // From the last site on: the most that these sites can make of each number of tasks.
    let mut best: Vec<Vec<u64>> = vec![vec![0; states.count as usize]];
    for sets in sets.iter().rev() {
        let after = best.last()?;
        let value = |state| {
            let values = sets.iter().filter_map(|set| {
                let rest = states.less(state, set)?;
                Some(set.value.saturating_add(after[rest as usize]))
            });
            values.max().unwrap_or(0)
        };
        best.push((0..states.count).map(value).collect());
    }
    let value = *best.pop()?.last()?;
    let mut state = states.count - 1;
    let mut shares = Vec::with_capacity(sites.len());
    for sets in sets {
        let after = best.pop()?;
        let mut chosen: Option<(u64, u64, u64, Share)> = None;
        for set in sets {
            let Some(rest) = states.less(state, &set) else { continue };
            let whole = set.value.saturating_add(after[rest as usize]);
            if chosen.as_ref().is_none_or(|(best, own, ..)| (whole, set.value) > (*best, *own)) {
                chosen = Some((whole, set.value, rest, set));
            }
        }
        let (_, _, rest, set) = chosen?;
        state = rest;
        shares.push(Rc::new(set.counts));
    }
    Some((shares, value))
}

/// A set of tasks on one site.
struct Share {
    /// Of each way.
    counts: Vec<u64>,
    /// Of each class.
    tasks: Vec<u64>,
    value: u64,
}

/// For each number of tasks of each class the most valuable variants, in the order in which they were found.
fn best_of_each(site: &Site<'_>, sets: Vec<Set>, classes: usize) -> Vec<Share> {
    let mut shares: Vec<Share> = Vec::new();
    let mut known: BTreeMap<Vec<u64>, usize> = BTreeMap::new();
    for Set { counts, value } in sets {
        let mut tasks = vec![0; classes];
        for (way, n) in site.ways.iter().zip(&counts) {
            tasks[way.class] += n;
        }
        match known.get(&tasks) {
            Some(at) if shares[*at].value >= value => {}
            Some(at) => shares[*at] = Share { counts, tasks, value },
            None => {
                known.insert(tasks.clone(), shares.len());
                shares.push(Share { counts, tasks, value });
            }
        }
    }
    shares
}

/// Numbers of tasks that are left of each class, as one number.
struct States {
    /// The most of each class that matters, and what one of it counts.
    digits: Vec<(u64, u64)>,
    count: u64,
}

impl States {
    fn new(sets: &[Vec<Share>], left: &[u64]) -> Option<Self> {
        let mut count: u64 = 1;
        let mut digits = Vec::with_capacity(left.len());
        for (class, left) in left.iter().enumerate() {
            let most: u64 = sets.iter().map(|sets| sets.iter().map(|set| set.tasks[class]).max().unwrap_or(0)).sum();
            let most = most.min(*left);
            digits.push((most, count));
            count = count.checked_mul(most + 1).filter(|count| *count <= STATES_MAX)?;
        }
        Some(Self { digits, count })
    }

    /// What is left after a set, if there is enough for it.
    fn less(&self, state: u64, set: &Share) -> Option<u64> {
        let mut rest = state;
        for ((most, one), n) in self.digits.iter().zip(&set.tasks) {
            if state / one % (most + 1) < *n {
                return None;
            }
            rest -= n * one;
        }
        Some(rest)
    }
}

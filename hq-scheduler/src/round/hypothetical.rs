//! A round's choice for workers that are not there.

use std::{collections::BTreeMap, rc::Rc};

use hq_core::Request;

use super::{
    assign::{Site, assign},
    fill::{Way, choose, place, top_up},
    looks::Looks,
    slots::LANES_MAX,
};
use crate::pool::{Pools, Signature};

/// Gives one worker the most valuable combination of the tasks of a level, `most` at most, and takes it out of `pools`.
/// Says how many of each queue. Each way is the queue's place among `left`, what a task takes, and what it is worth.
pub(crate) fn fill_hypothetical<'a>(
    pools: &mut Pools,
    ways: impl Iterator<Item = (usize, &'a Request, u64)>,
    left: &[u64],
    most: u64,
) -> Vec<u64> {
    let ways: Vec<Way<'_>> = ways.map(|(class, request, value)| Way { class, variant: 0, request, value }).collect();
    let (mut left, may) = (left.to_vec(), |_: usize, _: &Pools| true);
    let chosen = choose(pools, &ways, &left, most, &mut Looks::for_level(), &may);
    let mut placed = place(pools, &ways, &chosen, &mut left, most, &may);
    placed.extend(top_up(pools, &ways, &mut left, most - placed.len() as u64, &may));
    let mut counts = vec![0; left.len()];
    for placed in placed {
        if let Some(count) = counts.get_mut(placed.class) {
            *count += 1;
        }
    }
    counts
}

/// The tasks of one level: each way is the queue's place among `left`, what a task takes, and what it is worth; so many wait.
pub(crate) struct Level<'a> {
    pub(crate) ways: Vec<(usize, &'a Request, u64)>,
    pub(crate) left: Vec<u64>,
}

/// How many of `n` idle workers get something when a round shares the levels out over all of them. What suits the whole best may
/// need fewer workers than fill up one after the other. `together` are the same tasks as one level, where a round tries that first.
pub(crate) fn workers_used(idle: &Pools, levels: &[Level<'_>], together: Option<&Level<'_>>, n: usize) -> usize {
    let used = |workers: &[(Pools, u64)]| workers.iter().filter(|(_, used)| *used > 0).count();
    if let Some(level) = together {
        let mut workers = vec![(idle.clone(), 0); n];
        if share_out(&mut workers, level).iter().all(|left| *left == 0) {
            return used(&workers);
        }
    }
    let mut workers = vec![(idle.clone(), 0); n];
    for level in levels {
        share_out(&mut workers, level);
    }
    used(&workers)
}

/// Gives the workers the most valuable of a level; each has its pools and how many tasks it has. What is left of each queue.
fn share_out<'a>(workers: &mut [(Pools, u64)], level: &Level<'a>) -> Vec<u64> {
    let mut groups: BTreeMap<Signature, (usize, Rc<Vec<Way<'a>>>)> = BTreeMap::new();
    let mut sites: Vec<Site<'a>> = Vec::with_capacity(workers.len());
    for (pools, used) in &*workers {
        let next = groups.len();
        let fitting = || {
            let fitting = level.ways.iter().filter(|(_, request, _)| pools.fits(request));
            let way = |(class, request, value): &(usize, &'a Request, u64)| Way {
                class: *class,
                variant: 0,
                request,
                value: *value,
            };
            Rc::new(fitting.map(way).collect())
        };
        let (group, ways) = groups.entry(pools.signature()).or_insert_with(|| (next, fitting()));
        let most = (LANES_MAX as u64).saturating_sub(*used);
        sites.push(Site { pools: pools.clone(), ways: Rc::clone(ways), most, group: *group });
    }
    let mut left = level.left.clone();
    let placed = assign(&mut sites, &mut left, true, &mut Looks::for_level(), &|_, _, _| true);
    for ((worker, site), placed) in workers.iter_mut().zip(sites).zip(placed) {
        *worker = (site.pools, worker.1 + placed.len() as u64);
    }
    left
}

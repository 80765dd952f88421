//! The queues of one level on several workers.
//!
//! Workers are filled one after the other, equal ones alike. Where that leaves something to gain and few tasks wait for few workers,
//! all ways to share them out are compared. Else a class whose tasks run out has a *price*, which is what others forgo for one of
//! its tasks: they go first where they are worth more than that.

use std::rc::Rc;

use super::{
    fill::{Placed, Way, place, top_up},
    looks::Looks,
    prices::share,
};
use crate::pool::Pools;

/// A worker with room.
pub(super) struct Site<'a> {
    /// What is free.
    pub(super) pools: Pools,
    /// What could start there now.
    pub(super) ways: Rc<Vec<Way<'a>>>,
    /// So many tasks at most.
    pub(super) most: u64,
    /// Sites of one group have equal room, and the same ways.
    pub(super) group: usize,
}

/// Whether one more of a class may be placed on a site with such pools.
pub(super) type May<'a> = dyn Fn(usize, usize, &Pools) -> bool + 'a;

/// What is placed on each site: at most `left[class]` tasks of each class, which are counted down.
///
/// `free` says that `may` allows everything.
pub(super) fn assign(
    sites: &mut [Site<'_>],
    left: &mut [u64],
    free: bool,
    looks: &mut Looks,
    may: &May<'_>,
) -> Vec<Vec<Placed>> {
    let shares = share(sites, left, free, looks, may);
    let mut placed: Vec<Vec<Placed>> = Vec::with_capacity(sites.len());
    let mut last: Option<Last> = None;
    for (at, counts) in shares.into_iter().enumerate() {
        if counts.iter().all(|n| *n == 0) {
            placed.push(vec![]);
            continue;
        }
        if free && let Some(same) = last.as_ref().and_then(|last| last.again(at, sites, &counts, &placed, left)) {
            sites[at].pools.clone_from(&same.1);
            placed.push(same.0);
            continue;
        }
        let site = &mut sites[at];
        let before = site.pools.clone();
        placed
            .push(place(&mut site.pools, &site.ways, &counts, left, site.most, &|class, pools| may(at, class, pools)));
        last = Some(Last { at, before, counts });
    }
    for (at, (site, placed)) in sites.iter_mut().zip(&mut placed).enumerate() {
        if left.iter().any(|left| *left > 0) {
            let most = site.most - placed.len() as u64;
            placed.extend(top_up(&mut site.pools, &site.ways, left, most, &|class, pools| may(at, class, pools)));
        }
    }
    placed
}

/// The last site for which places were looked for.
struct Last {
    at: usize,
    /// What was free.
    before: Pools,
    counts: Rc<Vec<u64>>,
}

impl Last {
    /// The same places on a site where the same indices are free and the same is to be placed, and what is free then; counts
    /// `left` down.
    fn again(
        &self,
        at: usize,
        sites: &[Site<'_>],
        counts: &[u64],
        placed: &[Vec<Placed>],
        left: &mut [u64],
    ) -> Option<(Vec<Placed>, Pools)> {
        let (own, other) = (sites.get(at)?, sites.get(self.at)?);
        let same = own.group == other.group && own.most == other.most && *self.counts == counts;
        if !same || own.pools != self.before {
            return None;
        }
        let placed = placed.get(self.at)?;
        let mut rest = left.to_vec();
        for placed in placed {
            rest[placed.class] = rest[placed.class].checked_sub(1)?;
        }
        left.copy_from_slice(&rest);
        Some((placed.clone(), other.pools.clone()))
    }
}

//! Lanes with tasks that have not started: what can be called back.

use std::{collections::BTreeMap, ops::Bound};

use hq_core::{ClassId, GrantId};

use crate::{
    lane_runs::{LaneRuns, LaneSet},
    policy::Rank,
};

#[derive(Debug, Default)]
pub(crate) struct Deep {
    /// By class; never an empty set.
    of_class: BTreeMap<ClassId, LaneSet>,
    /// Ranks of the next tasks, as far as somebody has asked since these changed.
    ranks: LaneRuns<Rank>,
    /// Never an empty set.
    by_rank: BTreeMap<Rank, LaneSet>,
    /// The others.
    unranked: LaneSet,
}

impl Deep {
    /// Notes whether a lane of a class has such tasks, when those in the lane have changed.
    pub(crate) fn set(&mut self, class: ClassId, grant: GrantId, is_deep: bool) {
        if let Some(rank) = self.ranks.remove(grant) {
            remove(&mut self.by_rank, rank, grant);
        }
        if is_deep {
            self.of_class.entry(class).or_default().insert(grant, ());
            self.unranked.insert(grant, ());
        } else if remove(&mut self.of_class, class, grant) {
            self.unranked.remove(grant);
        }
    }

    /// New lanes of a class have such tasks.
    pub(crate) fn add(&mut self, class: ClassId, first: GrantId, n: u64) {
        self.of_class.entry(class).or_default().insert_all(first, n, ());
        self.unranked.insert_all(first, n, ());
    }

    /// Classes of such lanes.
    pub(crate) fn classes(&self) -> impl Iterator<Item = ClassId> + '_ {
        self.of_class.keys().copied()
    }

    pub(crate) fn of_class(&self, class: ClassId) -> impl Iterator<Item = GrantId> + '_ {
        self.of_class.get(&class).into_iter().flat_map(LaneRuns::lanes)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = GrantId> + '_ {
        self.of_class.values().flat_map(LaneRuns::lanes)
    }

    /// Other ranks hold now.
    pub(crate) fn forget_ranks(&mut self) {
        self.ranks.clear();
        self.by_rank.clear();
        self.unranked = self.all().collect();
    }

    /// Lanes whose ranks are not known: who takes them finds out.
    pub(crate) fn take_unranked(&mut self) -> LaneSet {
        std::mem::take(&mut self.unranked)
    }

    /// Notes the ranks of the next tasks of such lanes, which are in order.
    pub(crate) fn rank(&mut self, ranks: &[(GrantId, Rank)]) {
        let go_on = |a: &(GrantId, Rank), b: &(GrantId, Rank)| a.1 == b.1 && a.0.is_followed_by(b.0);
        for alike in ranks.chunk_by(go_on) {
            let ((first, rank), n) = (alike[0], alike.len() as u64);
            self.ranks.insert_all(first, n, rank);
            self.by_rank.entry(rank).or_default().insert_all(first, n, ());
        }
    }

    /// Lanes whose next task is of worse rank than `best`, as far as ranks are known, in order.
    pub(crate) fn worse_than(&self, best: Rank) -> Vec<GrantId> {
        let worse = self.by_rank.range((Bound::Excluded(best), Bound::Unbounded));
        let mut lanes: Vec<GrantId> = worse.flat_map(|(_, lanes)| lanes.lanes()).collect();
        lanes.sort_unstable();
        lanes
    }
}

/// Takes a lane out of its set, which goes when it is empty; says whether it was there.
fn remove<K: Ord>(sets: &mut BTreeMap<K, LaneSet>, key: K, grant: GrantId) -> bool {
    let Some(lanes) = sets.get_mut(&key) else { return false };
    let was_there = lanes.remove(grant).is_some();
    if lanes.is_empty() {
        sets.remove(&key);
    }
    was_there
}

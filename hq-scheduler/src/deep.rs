//! Lanes with tasks that have not started: what can be called back.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

use hq_core::{ClassId, Epoch, GrantId};

use crate::policy::Rank;

#[derive(Debug, Default)]
pub(crate) struct Deep {
    /// By class; never an empty set.
    of_class: BTreeMap<ClassId, BTreeSet<GrantId>>,
    /// Ranks of the next tasks, as far as somebody has asked since these changed.
    ranks: BTreeMap<GrantId, Rank>,
    by_rank: BTreeSet<(Rank, GrantId)>,
    /// The others.
    unranked: BTreeSet<GrantId>,
}

impl Deep {
    /// Notes whether a lane of a class has such tasks, when those in the lane have changed.
    pub(crate) fn set(&mut self, class: ClassId, grant: GrantId, is_deep: bool) {
        if let Some(rank) = self.ranks.remove(&grant) {
            self.by_rank.remove(&(rank, grant));
        }
        if is_deep {
            self.of_class.entry(class).or_default().insert(grant);
            self.unranked.insert(grant);
        } else if let Some(lanes) = self.of_class.get_mut(&class)
            && lanes.remove(&grant)
        {
            self.unranked.remove(&grant);
            if lanes.is_empty() {
                self.of_class.remove(&class);
            }
        }
    }

    /// Classes of such lanes.
    pub(crate) fn classes(&self) -> impl Iterator<Item = ClassId> + '_ {
        self.of_class.keys().copied()
    }

    pub(crate) fn of_class(&self, class: ClassId) -> impl Iterator<Item = GrantId> + '_ {
        self.of_class.get(&class).into_iter().flatten().copied()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = GrantId> + '_ {
        self.of_class.values().flatten().copied()
    }

    /// Other ranks hold now.
    pub(crate) fn forget_ranks(&mut self) {
        self.ranks.clear();
        self.by_rank.clear();
        self.unranked = self.all().collect();
    }

    /// Lanes whose ranks are not known: who takes them finds out.
    pub(crate) fn take_unranked(&mut self) -> BTreeSet<GrantId> {
        std::mem::take(&mut self.unranked)
    }

    /// Notes the rank of the next task of such a lane.
    pub(crate) fn rank(&mut self, grant: GrantId, rank: Rank) {
        self.ranks.insert(grant, rank);
        self.by_rank.insert((rank, grant));
    }

    /// Lanes whose next task is of worse rank than `best`, as far as ranks are known, in order.
    pub(crate) fn worse_than(&self, best: Rank) -> Vec<GrantId> {
        let last = GrantId { epoch: Epoch(u32::MAX), n: u32::MAX };
        let worse = self.by_rank.range((Bound::Excluded((best, last)), Bound::Unbounded));
        let mut lanes: Vec<GrantId> = worse.map(|(_, grant)| *grant).collect();
        lanes.sort_unstable();
        lanes
    }
}

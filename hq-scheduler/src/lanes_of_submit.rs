//! Which lanes hold tasks of a submit: taking its tasks back costs what these lanes do, however many others there are.

use std::collections::BTreeSet;

use hq_core::{Epoch, GrantId, Ordinal, OrdinalRange, RangeSet};

use crate::{
    Scheduler,
    state::{Grant, State},
};

/// Comes before all lanes.
const FIRST: GrantId = GrantId { epoch: Epoch(0), n: 0 };

/// Pairs of a submit and a lane that holds some of its tasks, in order.
#[derive(Debug, Default)]
pub(crate) struct LanesOfSubmit(BTreeSet<(Ordinal, GrantId)>);

impl LanesOfSubmit {
    /// A lane ends.
    pub(crate) fn close(&mut self, state: &State, grant: GrantId, lane: &Grant) {
        for base in submits_with(state, lane.tasks.iter()) {
            self.0.remove(&(base, grant));
        }
    }

    /// A submit is forgotten: what is left of it in lanes is of no job any more.
    pub(crate) fn forget(&mut self, base: Ordinal) {
        let lanes: Vec<GrantId> = self.of(base).collect();
        for grant in lanes {
            self.0.remove(&(base, grant));
        }
    }

    fn of(&self, base: Ordinal) -> impl Iterator<Item = GrantId> + '_ {
        let pairs = self.0.range((base, FIRST)..).take_while(move |(other, _)| *other == base);
        pairs.map(|(_, grant)| *grant)
    }
}

impl Scheduler {
    /// Tasks have come into a lane.
    pub(crate) fn note_lane_got(&mut self, grant: GrantId, tasks: &[OrdinalRange]) {
        for base in submits_with(&self.state, tasks.iter().copied()) {
            self.mind.lanes_of_submit.0.insert((base, grant));
        }
    }

    /// Tasks have left a lane.
    pub(crate) fn note_lane_lost(&mut self, grant: GrantId, tasks: &[OrdinalRange]) {
        let Some(lane) = self.state.grants.get(&grant) else { return };
        for base in submits_with(&self.state, tasks.iter().copied()) {
            let whole = self.state.range_of(base);
            if !lane.tasks.iter().any(|range| range.start < whole.end() && whole.start < range.end()) {
                self.mind.lanes_of_submit.0.remove(&(base, grant));
            }
        }
    }

    /// The members of `tasks` that are in lanes, in order.
    pub(crate) fn lanes_with(&self, tasks: &RangeSet) -> Vec<(GrantId, OrdinalRange)> {
        let mut found = Vec::new();
        for base in submits_with(&self.state, tasks.iter()) {
            let whole = self.state.range_of(base);
            for grant in self.mind.lanes_of_submit.of(base) {
                let lane = self.state.grants.get(&grant);
                let own = lane.into_iter().flat_map(|lane| lane.tasks.intersect(whole));
                found.extend(own.flat_map(|own| tasks.intersect(own)).map(|range| (grant, range)));
            }
        }
        found.sort_unstable_by_key(|(grant, range)| (range.start, *grant));
        found
    }
}

/// Submits to which tasks of such ranges belong; of ranges in order each submit once.
fn submits_with(state: &State, ranges: impl Iterator<Item = OrdinalRange>) -> Vec<Ordinal> {
    let mut bases: Vec<Ordinal> = Vec::new();
    let mut seen = Ordinal(0)..Ordinal(0);
    for range in ranges.filter(|range| range.len > 0) {
        if seen.contains(&range.start) && range.end() <= seen.end {
            continue;
        }
        for (base, _) in state.split_by_submit(range) {
            if seen.start != base || seen.is_empty() {
                let whole = state.range_of(base);
                seen = whole.start..whole.end();
                bases.push(base);
            }
        }
    }
    bases
}

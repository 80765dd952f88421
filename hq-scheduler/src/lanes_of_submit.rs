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
        submits_with(state, lane.tasks.iter(), |base| _ = self.0.remove(&(base, grant)));
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
        let lanes = &mut self.mind.lanes_of_submit.0;
        submits_with(&self.state, tasks.iter().copied(), |base| _ = lanes.insert((base, grant)));
    }

    /// Tasks have left a lane.
    pub(crate) fn note_lane_lost(&mut self, grant: GrantId, tasks: &[OrdinalRange]) {
        let Some(lane) = self.state.grants.get(&grant) else { return };
        let lanes = &mut self.mind.lanes_of_submit.0;
        submits_with(&self.state, tasks.iter().copied(), |base| {
            let whole = self.state.range_of(base);
            if !lane.tasks.iter().any(|range| range.start < whole.end() && whole.start < range.end()) {
                lanes.remove(&(base, grant));
            }
        });
    }

    /// The members of `tasks` that are in lanes, in order.
    pub(crate) fn lanes_with(&mut self, tasks: &RangeSet) -> Vec<(GrantId, OrdinalRange)> {
        let (mut found, mut lanes) = (Vec::new(), 0);
        submits_with(&self.state, tasks.iter(), |base| {
            let whole = self.state.range_of(base);
            for grant in self.mind.lanes_of_submit.of(base) {
                lanes += 1;
                let lane = self.state.grants.get(&grant);
                for own in lane.into_iter().flat_map(|lane| lane.tasks.iter()) {
                    let (start, end) = (own.start.max(whole.start), own.end().min(whole.end()));
                    if start < end {
                        let own = OrdinalRange::new(start, end.0 - start.0);
                        found.extend(tasks.within(own).map(|range| (grant, range)));
                    }
                }
            }
        });
        self.mind.effort.lanes += lanes;
        found.sort_unstable_by_key(|(grant, range)| (range.start, *grant));
        found
    }
}

/// Tells the submits to which tasks of such ranges belong; of ranges in order each submit once.
fn submits_with(state: &State, ranges: impl Iterator<Item = OrdinalRange>, mut tell: impl FnMut(Ordinal)) {
    let mut seen = Ordinal(0)..Ordinal(0);
    for range in ranges {
        let mut next = range.start;
        while next < range.end() {
            if !seen.contains(&next) {
                let Some(whole) = state.submit_at_or_after(next) else { return };
                if whole.start >= range.end() {
                    break;
                }
                seen = whole.start..whole.end();
                tell(whole.start);
            }
            next = seen.end;
        }
    }
}

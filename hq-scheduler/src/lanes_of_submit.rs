//! Which lanes hold tasks of a submit: taking its tasks back costs what these lanes do, however many others there are.

use std::collections::BTreeMap;

use hq_core::{GrantId, OpenedLanes, Ordinal, OrdinalRange, RangeSet, WorkerId};

use crate::{
    Scheduler,
    lane_runs::{LaneRuns, LaneSet},
    state::{Grant, State},
};

/// The lanes that hold some tasks of a submit. Never an empty set.
#[derive(Debug, Default)]
pub(crate) struct LanesOfSubmit(BTreeMap<Ordinal, LaneSet>);

impl LanesOfSubmit {
    /// A lane ends.
    pub(crate) fn close(&mut self, state: &State, grant: GrantId, lane: &Grant) {
        submits_with(state, lane.tasks.iter(), |base| self.remove(base, grant));
    }

    fn remove(&mut self, base: Ordinal, grant: GrantId) {
        if let Some(lanes) = self.0.get_mut(&base) {
            lanes.remove(grant);
            if lanes.is_empty() {
                self.0.remove(&base);
            }
        }
    }

    /// A submit is forgotten: what is left of it in lanes is of no job any more.
    pub(crate) fn forget(&mut self, base: Ordinal) {
        self.0.remove(&base);
    }

    /// The lanes of a submit as runs of consecutive numbers.
    fn of(&self, base: Ordinal) -> impl Iterator<Item = (GrantId, u64)> + '_ {
        self.0.get(&base).into_iter().flat_map(LaneRuns::runs)
    }
}

/// Tasks that a lane holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InLane {
    pub(crate) grant: GrantId,
    pub(crate) worker: WorkerId,
    /// The task that the lane is known to run, one of these or not.
    pub(crate) running: Option<Ordinal>,
    pub(crate) tasks: OrdinalRange,
}

impl Scheduler {
    /// Tasks have come into a lane.
    pub(crate) fn note_lane_got(&mut self, grant: GrantId, tasks: &[OrdinalRange]) {
        let lanes = &mut self.mind.lanes_of_submit.0;
        submits_with(&self.state, tasks.iter().copied(), |base| lanes.entry(base).or_default().insert(grant, ()));
    }

    /// New lanes have got one task each.
    pub(crate) fn note_lanes_got(&mut self, lanes: &OpenedLanes) {
        let (Some(first), Some(last)) = (lanes.tasks.first(), lanes.tasks.last()) else { return };
        let whole = self.state.submit_at_or_after(first.start);
        match whole {
            Some(whole) if whole.contains(first.start) && last.end() <= whole.end() => {
                let known = self.mind.lanes_of_submit.0.entry(whole.start).or_default();
                known.insert_all(lanes.first, lanes.workers.len() as u64, ());
            }
            _ => lanes.iter().for_each(|lane| self.note_lane_got(lane.grant, &[OrdinalRange::one(lane.task)])),
        }
    }

    /// Tasks have left a lane.
    pub(crate) fn note_lane_lost(&mut self, grant: GrantId, tasks: &[OrdinalRange]) {
        let Some(lane) = self.state.grants.get(&grant) else { return };
        let lanes = &mut self.mind.lanes_of_submit;
        submits_with(&self.state, tasks.iter().copied(), |base| {
            let whole = self.state.range_of(base);
            if !lane.tasks.iter().any(|range| range.start < whole.end() && whole.start < range.end()) {
                lanes.remove(base, grant);
            }
        });
    }

    /// Tells the members of `tasks` that are in lanes.
    pub(crate) fn lanes_with(&mut self, tasks: &RangeSet, mut tell: impl FnMut(InLane)) {
        let mut lanes = 0;
        // Nearly always the next lane's tasks are of the same run.
        let mut last = OrdinalRange::new(Ordinal(0), 0);
        submits_with(&self.state, tasks.iter(), |base| {
            let whole = self.state.range_of(base);
            let runs = self.mind.lanes_of_submit.of(base);
            for (grant, lane) in runs.flat_map(|(first, n)| self.state.grants.in_run(first, n)) {
                lanes += 1;
                for own in lane.tasks.iter() {
                    let (start, end) = (own.start.max(whole.start), own.end().min(whole.end()));
                    if start < end {
                        let own = OrdinalRange::new(start, end.0 - start.0);
                        let running = lane.running;
                        let in_lane = |tasks| InLane { grant, worker: lane.worker, running, tasks };
                        if last.start <= own.start && own.end() <= last.end() {
                            tell(in_lane(own));
                        } else {
                            tasks.within(own).map(in_lane).for_each(&mut tell);
                            last = tasks.run_of(own.start).unwrap_or(last);
                        }
                    }
                }
            }
        });
        self.mind.effort.lanes += lanes;
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

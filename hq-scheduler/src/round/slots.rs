//! Places for the tasks of one queue: the placement ranks them, the core takes one after the other while they fit.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use hq_core::{Allocation, GrantId, Request, Tick, WorkerId};

use super::{
    blocked::{Asker, Blockers},
    lanes::has_time,
    places::{Place, Room},
    reach::Reach,
};
use crate::{Scheduler, policy::Rank, state::QueueKey};

/// Lanes of a worker at a time: tasks that ask for next to nothing fit without end.
pub(crate) const LANES_MAX: usize = 16_384;

/// A place that was chosen.
pub(super) struct Slot {
    pub(super) worker: WorkerId,
    pub(super) variant: u8,
    pub(super) allocation: Arc<Allocation>,
    /// Those of one turn get their first tasks before those of the next, in order of their workers.
    pub(super) turn: usize,
}

impl Slot {
    /// In this order lanes get their first tasks.
    pub(super) const fn order(&self) -> (usize, WorkerId) {
        (self.turn, self.worker)
    }
}

impl Scheduler {
    /// Starts up to `budget` tasks of a queue; says how many.
    pub(super) fn place_queue(
        &mut self,
        now: Tick,
        key: QueueKey,
        rank: Rank,
        budget: u64,
        reach: &Reach<'_>,
        blockers: &mut Blockers,
    ) -> u64 {
        let candidates = (!reach.fresh.contains(&key)).then_some(reach.dirty);
        if self.state.classes.get(key.class).is_gang() {
            return self.place_gangs(now, key, rank, budget, candidates, blockers);
        }
        self.learn_places(key.class);
        let slots = self.choose_slots(now, key, rank, budget, candidates, blockers);
        let n = slots.len() as u64;
        self.open_lanes(now, key, slots, blockers.backlog_budget(n, budget));
        n
    }

    /// Places that the tasks get.
    fn choose_slots(
        &self,
        now: Tick,
        key: QueueKey,
        rank: Rank,
        budget: u64,
        candidates: Option<&BTreeSet<WorkerId>>,
        blockers: &mut Blockers,
    ) -> Vec<Slot> {
        let requests = &self.state.classes.get(key.class).requests;
        let some = candidates.map(|workers| self.mind.known_places.sorted_of(key.class, workers.iter()));
        let all = some.is_none().then(|| self.mind.known_places.sorted(key.class));
        let mut known = some.into_iter().flatten().chain(all.into_iter().flatten()).peekable();
        // Of workers that got something: what is left, and the places there that count now.
        let mut used: BTreeMap<WorkerId, (Room<'_>, Vec<Place>)> = BTreeMap::new();
        let mut anew: BTreeSet<Place> = BTreeSet::new();
        let mut slots: Vec<Slot> = Vec::new();
        while (slots.len() as u64) < budget {
            let next = match (known.peek(), anew.first()) {
                (Some(place), Some(other)) if other < place => anew.pop_first(),
                (None, _) => anew.pop_first(),
                (Some(_), _) => known.next(),
            };
            let Some(place) = next else { break };
            let (_, id, variant) = place;
            let Some(worker) = self.state.workers.get(&id) else { continue };
            let Some(request) = requests.get(usize::from(variant)) else { continue };
            if !worker.takes_tasks()
                || used.get(&id).is_some_and(|(_, places)| !places.contains(&place))
                || blockers.refused.contains(&(key, id))
                || !has_time(worker.deadline(), now, request.min_time())
            {
                continue;
            }
            let (room, places) = used.entry(id).or_insert_with(|| (Room::of(worker), vec![]));
            let asker = Asker { now, rank, queue: key, worker: id };
            if room.lanes >= LANES_MAX || !self.may_pass(asker, blockers, &room.pools) {
                continue;
            }
            let Some(allocation) = room.pools.allocate(request) else { continue };
            if !room.open(self.next_lane(slots.len()), &allocation) {
                continue;
            }
            // What it takes changes the keys of all places there.
            *places = self.places(id, room, requests);
            anew.extend(places.iter().copied());
            let (allocation, turn) = (Arc::new(allocation), slots.len());
            slots.push(Slot { worker: id, variant, allocation, turn });
        }
        slots
    }

    /// About the grant that the lane gets which is opened after `opened` others.
    fn next_lane(&self, opened: usize) -> GrantId {
        let n = self.state.last_grant.saturating_add(1).saturating_add(u32::try_from(opened).unwrap_or(u32::MAX));
        GrantId { epoch: self.state.epoch, n }
    }

    /// Until when a grant on a worker that ends at `deadline` may start tasks.
    pub(crate) fn limit_lane(&mut self, grant: GrantId, deadline: Option<Tick>, request: &Request) -> Option<Tick> {
        let limit = deadline?.before(request.min_time());
        self.mind.limits.insert((limit, grant));
        self.mind.lanes.entry(grant).or_default().not_after = Some(limit);
        Some(limit)
    }
}

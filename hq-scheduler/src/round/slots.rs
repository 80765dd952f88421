//! Places for the tasks of one queue: the placement ranks them, the core takes one after the other while they fit.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use hq_core::{Allocation, Fact, GrantId, Open, OrdinalRange, Request, Tick, ToWorker, WorkerId};

use super::{blocked::Blockers, lanes::has_time};
use crate::{
    Action, Scheduler,
    policy::{PlacementKey, Rank, SlotView},
    pool::Pools,
    state::{Effects, QueueKey, Worker},
};

/// Lanes of a worker at a time: tasks that ask for next to nothing fit without end.
pub(crate) const LANES_MAX: usize = 16_384;

/// A place that was chosen.
pub(super) struct Slot {
    pub(super) worker: WorkerId,
    pub(super) variant: u8,
    pub(super) allocation: Allocation,
    /// Those of one turn get their first tasks before those of the next, in order of their workers.
    pub(super) turn: usize,
}

/// What a worker has left in a pass.
struct Room<'a> {
    pools: Cow<'a, Pools>,
    lanes: usize,
    last_lane: Option<GrantId>,
}

impl<'a> Room<'a> {
    fn of(worker: &'a Worker) -> Self {
        Self { pools: Cow::Borrowed(&worker.pools), lanes: worker.grants.len(), last_lane: worker.last_lane }
    }
}

/// A worker and a variant that fits there, by what the placement says of it.
type Place = (PlacementKey, WorkerId, u8);

impl Scheduler {
    /// Starts up to `budget` tasks of a queue; says how many.
    pub(super) fn place_queue(
        &mut self,
        now: Tick,
        key: QueueKey,
        rank: Rank,
        budget: u64,
        candidates: Option<&BTreeSet<WorkerId>>,
        blockers: &mut Blockers,
    ) -> u64 {
        self.learn_capable(key.class);
        if self.state.classes.get(key.class).is_gang() {
            return self.place_gangs(now, key, rank, budget, candidates, blockers);
        }
        let (slots, full) = self.choose_slots(now, key, rank, budget, candidates, blockers);
        if let Some(capable) = self.mind.capable.get_mut(&key.class) {
            for worker in full {
                capable.roomy.remove(&worker);
            }
        }
        let n = slots.len() as u64;
        self.open_lanes(now, key, slots, budget);
        n
    }

    /// Places that the tasks get, and workers that turned out to have none.
    fn choose_slots(
        &self,
        now: Tick,
        key: QueueKey,
        rank: Rank,
        budget: u64,
        candidates: Option<&BTreeSet<WorkerId>>,
        blockers: &mut Blockers,
    ) -> (Vec<Slot>, Vec<WorkerId>) {
        let Some(capable) = self.mind.capable.get(&key.class) else { return Default::default() };
        let candidates: Vec<WorkerId> = match candidates {
            Some(some) => some.intersection(&capable.roomy).copied().collect(),
            None => capable.roomy.iter().copied().collect(),
        };
        let requests = &self.state.classes.get(key.class).requests;
        let mut heap: BTreeSet<Place> = BTreeSet::new();
        // Of workers that got something: what is left, and the places there that count now.
        let mut used: BTreeMap<WorkerId, (Room<'_>, Vec<Place>)> = BTreeMap::new();
        let mut full = Vec::new();
        for worker in candidates {
            let Some(known) = self.state.workers.get(&worker).filter(|known| known.gang.is_none()) else { continue };
            let places = self.places(now, worker, known, &Room::of(known), requests);
            if places.is_empty() {
                full.push(worker);
            }
            if !blockers.refused.contains(&(key.class, worker)) {
                heap.extend(places);
            }
        }
        let mut slots: Vec<Slot> = Vec::new();
        while (slots.len() as u64) < budget {
            let Some(place) = heap.pop_first() else { break };
            let (_, worker, variant) = place;
            let Some(known) = self.state.workers.get(&worker) else { continue };
            let (room, places) = used.entry(worker).or_insert_with(|| (Room::of(known), vec![place]));
            if room.lanes >= LANES_MAX || !places.contains(&place) {
                continue;
            }
            let Some(allocation) = room.pools.allocate(&requests[usize::from(variant)]) else { continue };
            if !self.may_pass(now, blockers, rank, key.class, worker, &room.pools)
                || !room.pools.to_mut().take(&allocation)
            {
                continue;
            }
            room.lanes += 1;
            room.last_lane = Some(self.next_lane(slots.len()));
            // What it takes changes the keys of all places there.
            *places = self.places(now, worker, known, room, requests);
            heap.extend(places.iter().copied());
            slots.push(Slot { worker, variant, allocation, turn: slots.len() });
        }
        (slots, full)
    }

    /// The variants that fit on a worker of which so much is free, and their keys.
    fn places(
        &self,
        now: Tick,
        worker: WorkerId,
        known: &Worker,
        room: &Room<'_>,
        requests: &[Arc<Request>],
    ) -> Vec<Place> {
        let place = |(variant, request): (u8, &Arc<Request>)| {
            if !has_time(known.deadline(), now, request.min_time()) {
                return None;
            }
            let allocation = &room.pools.allocate(request)?;
            let (free, value) = (&*room.pools, self.value(request, &room.pools));
            let (lanes, last_lane) = (room.lanes, room.last_lane);
            let slot = SlotView { worker, free, lanes, last_lane, variant, allocation, value };
            Some((self.policies.placement().key(&slot), worker, variant))
        };
        (0..).zip(requests).filter_map(place).collect()
    }

    /// About the grant that the lane gets which is opened after `opened` others.
    fn next_lane(&self, opened: usize) -> GrantId {
        let n = self.state.last_grant.saturating_add(1).saturating_add(u32::try_from(opened).unwrap_or(u32::MAX));
        GrantId { epoch: self.state.epoch, n }
    }

    /// Tasks go to the lanes turn by turn, so that those of low number start everywhere first; then the backlogs.
    pub(super) fn open_lanes(&mut self, now: Tick, key: QueueKey, mut slots: Vec<Slot>, budget: u64) {
        slots.sort_by_key(|slot| (slot.turn, slot.worker));
        let heads = self.peek(key, slots.len() as u64);
        let mut heads = heads.into_iter().flat_map(OrdinalRange::iter);
        let mut grants = Vec::new();
        for slot in slots {
            let Some(head) = heads.next() else { break };
            let grant = self.state.next_grant();
            let fact = Fact::GrantOpened {
                grant,
                workers: vec![slot.worker],
                class: key.class,
                variant: slot.variant,
                allocation: slot.allocation.clone(),
                tasks: vec![OrdinalRange::one(head)],
            };
            self.emit(now, fact, &mut Effects::default());
            grants.push((grant, slot, vec![OrdinalRange::one(head)]));
        }
        let opened = grants.len() as u64;
        // Beyond the budget others may be next.
        let mut rest = budget.saturating_sub(opened);
        for (grant, slot, mut tasks) in grants {
            let share = self.state.ready.get(&key).map_or(0, |set| set.len()) / (2 * opened.max(1));
            let more = self.peek(key, self.backlog_room(key).min(share).min(rest));
            rest -= more.iter().map(|range| range.len).sum::<u64>();
            if !more.is_empty() {
                self.emit(now, Fact::GrantExtended { grant, tasks: more.clone() }, &mut Effects::default());
                tasks.extend(more);
            }
            self.send_open(now, grant, key, slot, &tasks);
        }
    }

    fn send_open(&mut self, now: Tick, grant: GrantId, key: QueueKey, slot: Slot, tasks: &[OrdinalRange]) {
        let class = self.state.classes.get(key.class);
        let Some(request) = class.requests.get(usize::from(slot.variant)).cloned() else { return };
        let variants = class.requests.len() as u8;
        self.mind.idle.end(slot.worker);
        let deadline = self.state.workers.get(&slot.worker).and_then(Worker::deadline);
        let not_after = self.limit_lane(grant, deadline, &request);
        let work = self.work_for(slot.worker, tasks);
        let open = Open {
            grant,
            request,
            variant: slot.variant,
            variants,
            allocation: slot.allocation,
            hosts: vec![],
            work,
            not_after: not_after.map(|limit| limit.since(now)),
        };
        self.actions.push_back(Action::Send { worker: slot.worker, message: ToWorker::Open(Box::new(open)) });
    }

    /// Until when a grant on a worker that ends at `deadline` may start tasks.
    pub(super) fn limit_lane(&mut self, grant: GrantId, deadline: Option<Tick>, request: &Request) -> Option<Tick> {
        let limit = deadline?.before(request.min_time());
        self.mind.limits.insert((limit, grant));
        self.mind.lanes.entry(grant).or_default().not_after = Some(limit);
        Some(limit)
    }
}

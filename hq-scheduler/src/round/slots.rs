//! Places for the tasks of one queue: the placement ranks them, the core takes one after the other while they fit.

use std::collections::{BTreeMap, BTreeSet};

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
    /// It is the worker's n-th new one in this pass.
    pub(super) nth: usize,
}

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
        let mut scratch: BTreeMap<WorkerId, (Pools, usize)> = BTreeMap::new();
        let mut heap: BTreeSet<(PlacementKey, WorkerId, u8)> = BTreeSet::new();
        let mut full = Vec::new();
        for worker in candidates {
            let Some(known) = self.state.workers.get(&worker).filter(|known| known.gang.is_none()) else { continue };
            let lanes = known.grants.len();
            let fits = |request: &Request| {
                has_time(known.deadline(), now, request.min_time()) && known.pools.allocate(request).is_some()
            };
            let fitting: Vec<(u8, &Request)> =
                (0..).zip(requests).filter(|(_, request)| fits(request)).map(|(n, request)| (n, &**request)).collect();
            if fitting.is_empty() {
                full.push(worker);
            }
            if !blockers.refused.contains(&(key.class, worker)) {
                let slot = |(variant, request)| {
                    (self.slot_key(worker, &known.pools, lanes, variant, request), worker, variant)
                };
                heap.extend(fitting.into_iter().map(slot));
            }
        }
        let mut slots = Vec::new();
        while (slots.len() as u64) < budget {
            let Some((_, worker, variant)) = heap.pop_first() else { break };
            let Some(known) = self.state.workers.get(&worker) else { continue };
            let (pools, nth) = scratch.entry(worker).or_insert_with(|| (known.pools.clone(), 0));
            if known.grants.len() + *nth >= LANES_MAX {
                continue;
            }
            let request = &requests[usize::from(variant)];
            let Some(allocation) = pools.allocate(request) else { continue };
            if !self.may_pass(now, blockers, rank, key.class, worker, pools) || !pools.take(&allocation) {
                continue;
            }
            *nth += 1;
            slots.push(Slot { worker, variant, allocation, nth: *nth });
            if pools.allocate(request).is_some() {
                heap.insert((
                    self.slot_key(worker, pools, known.grants.len() + *nth, variant, request),
                    worker,
                    variant,
                ));
            }
        }
        (slots, full)
    }

    fn slot_key(&self, worker: WorkerId, free: &Pools, lanes: usize, variant: u8, request: &Request) -> PlacementKey {
        let value = self.value(request, free);
        self.policies.placement().key(&SlotView { worker, free, lanes, variant, value })
    }

    /// Tasks go to the lanes in turn, worker by worker, so that those of low number start everywhere first; then the backlogs.
    pub(super) fn open_lanes(&mut self, now: Tick, key: QueueKey, mut slots: Vec<Slot>, budget: u64) {
        slots.sort_by_key(|slot| (slot.nth, slot.worker));
        let heads = self.peek(key, slots.len() as u64);
        let mut heads = heads.into_iter().flat_map(OrdinalRange::iter);
        let mut grants = Vec::new();
        for slot in slots {
            let Some(head) = heads.next() else { break };
            let grant = GrantId { epoch: self.state.epoch, n: self.state.last_grant.saturating_add(1) };
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
        self.mind.idle.remove(&slot.worker);
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

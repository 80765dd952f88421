//! The queues of one level on workers that are filled one after the other.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use hq_core::{ClassId, Request, Tick, WorkerId};

use super::{
    blocked::{Blockers, HeldFor},
    fill::{Way, fill},
    lanes::has_time,
    reach::Reach,
    slots::{LANES_MAX, Slot},
};
use crate::{
    Scheduler,
    policy::Rank,
    rooms::{MakeId, RoomId},
    state::{QueueKey, Worker},
};

/// A queue of which something fits in a room.
struct Candidate {
    /// Its place in the level.
    queue: usize,
    class: ClassId,
    /// The variants that fit, as bits.
    variants: u32,
    /// Whether all workers of the room are within reach for it, or dirty ones only.
    fresh: bool,
    /// How many tasks fit, all variants together.
    fit: u64,
}

/// What a level can place in a room, and what has been decided for workers there.
#[derive(Default)]
struct RoomPlan {
    candidates: Vec<Candidate>,
    decided: BTreeMap<Case, Decision>,
}

/// What a worker gets: candidates and variants, in order.
#[derive(Clone)]
struct Decision {
    steps: Rc<[(usize, u8)]>,
    /// Whether something was refused for the sake of a better queue.
    refused: bool,
}

/// All that a decision depends on, beside the room: workers of equal cases get the same.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Case {
    /// Of each candidate: the variants for which there is time, and how many tasks can be had.
    candidates: Vec<(u32, u64)>,
    most: u64,
    /// Better queues for which places are held there, and the worker's lanes, on which depends how much they leave.
    held_for: Rc<[HeldFor]>,
    lanes: Vec<(ClassId, u8)>,
    /// A worker with a reservation is like no other.
    reserved: Option<WorkerId>,
}

impl Scheduler {
    /// Starts up to `budgets` tasks of each queue, worker by worker, on each the most valuable combination; says how many.
    /// Equal workers are decided once.
    pub(super) fn fill_workers(
        &mut self,
        now: Tick,
        keys: &[QueueKey],
        rank: Rank,
        budgets: &[u64],
        reach: &Reach<'_>,
        blockers: &mut Blockers,
    ) -> Vec<u64> {
        let mut plans = self.plans(keys, reach);
        let mut left = budgets.to_vec();
        let mut slots: Vec<Vec<Slot>> = keys.iter().map(|_| vec![]).collect();
        let mut standing = Standing::default();
        let next = |id: RoomId, plan: &RoomPlan, last: Option<WorkerId>, left: &[u64]| {
            let wanted = |candidate: &Candidate, fresh| candidate.fresh == fresh && left[candidate.queue] > 0;
            let open = |fresh| plan.candidates.iter().any(|candidate| wanted(candidate, fresh));
            let worker = |fresh| open(fresh).then(|| reach.worker_after(&self.mind.rooms, id, last, fresh)).flatten();
            Some((worker(true).into_iter().chain(worker(false)).min()?, id))
        };
        let mut waiting: BTreeSet<(WorkerId, RoomId)> =
            plans.iter().filter_map(|(id, plan)| next(*id, plan, None, &left)).collect();
        while let Some((worker, room)) = waiting.pop_first() {
            let (Some(known), Some(plan)) = (self.state.workers.get(&worker), plans.get_mut(&room)) else { continue };
            let held_for = standing.of(self, now, blockers, rank, worker, known);
            let mut case = self.case(now, plan, worker, known, reach, &left, held_for);
            case.reserved = blockers.is_reserved(worker, rank).then_some(worker);
            let decided = match plan.decided.get(&case) {
                Some(decided) => decided.clone(),
                None => {
                    let decided = self.decide(now, blockers, rank, keys, plan, worker, known, &case);
                    plan.decided.insert(case, decided.clone());
                    decided
                }
            };
            if decided.refused {
                blockers.kept.insert(worker);
            }
            let mut pools = known.pools.clone();
            for (turn, (nth, variant)) in decided.steps.iter().enumerate() {
                let candidate = &plan.candidates[*nth];
                let request = self.state.classes.get(candidate.class).requests.get(usize::from(*variant));
                let Some(allocation) = request.and_then(|request| pools.allocate(request)) else { continue };
                pools.take(&allocation);
                left[candidate.queue] = left[candidate.queue].saturating_sub(1);
                slots[candidate.queue].push(Slot { worker, variant: *variant, allocation, turn });
            }
            waiting.extend(next(room, plan, Some(worker), &left));
        }
        let placed: Vec<u64> = slots.iter().map(|slots| slots.len() as u64).collect();
        for ((key, slots), budget) in keys.iter().zip(slots).zip(budgets) {
            let budget = blockers.backlog_budget(slots.len() as u64, *budget);
            self.open_lanes(now, *key, slots, budget);
        }
        placed
    }

    /// Rooms in which something of the level fits.
    fn plans(&mut self, keys: &[QueueKey], reach: &Reach<'_>) -> BTreeMap<RoomId, RoomPlan> {
        let mut plans: BTreeMap<RoomId, RoomPlan> = BTreeMap::new();
        for (queue, key) in keys.iter().enumerate() {
            let fresh = reach.fresh.contains(key);
            for (room, variants) in self.rooms_for(reach, key.class, fresh) {
                let first = self.mind.rooms.get(room).and_then(|room| room.workers.first());
                let Some(worker) = first.and_then(|first| self.state.workers.get(first)) else { continue };
                let count = |request: &Request| u64::from(worker.pools.fits_count(request, LANES_MAX as u32));
                let requests = (0..).zip(&self.state.classes.get(key.class).requests);
                let fitting = requests.filter(|(variant, _)| has(variants, *variant));
                let fit = fitting.map(|(_, request)| count(request)).sum();
                let candidate = Candidate { queue, class: key.class, variants, fresh, fit };
                plans.entry(room).or_default().candidates.push(candidate);
            }
        }
        plans
    }

    #[expect(clippy::too_many_arguments, reason = "what a pass knows")]
    fn case(
        &self,
        now: Tick,
        plan: &RoomPlan,
        worker: WorkerId,
        known: &Worker,
        reach: &Reach<'_>,
        left: &[u64],
        held_for: Rc<[HeldFor]>,
    ) -> Case {
        let dirty = reach.dirty.contains(&worker);
        let deadline = known.deadline();
        let candidate = |candidate: &Candidate| {
            if !candidate.fresh && !dirty {
                return (0, 0);
            }
            let requests = &self.state.classes.get(candidate.class).requests;
            let has_time = |variant: &u8| {
                requests.get(usize::from(*variant)).is_some_and(|request| has_time(deadline, now, request.min_time()))
            };
            let timely = match deadline {
                None => candidate.variants,
                Some(_) => variants(candidate.variants).filter(has_time).map(|variant| 1 << variant).sum(),
            };
            (timely, candidate.fit.min(left[candidate.queue]))
        };
        let candidates: Vec<(u32, u64)> = plan.candidates.iter().map(candidate).collect();
        let all: u64 = candidates.iter().map(|(_, cap)| cap).sum();
        let most = all.min(LANES_MAX.saturating_sub(known.grants.len()) as u64);
        let mut lanes = Vec::new();
        if !held_for.is_empty() {
            let grants = known.grants.iter().filter_map(|grant| self.state.grants.get(grant));
            lanes.extend(grants.map(|lane| (lane.class, lane.variant)));
            lanes.sort_unstable();
        }
        Case { candidates, most, held_for, lanes, reserved: None }
    }

    #[expect(clippy::too_many_arguments, reason = "what a pass knows")]
    fn decide(
        &self,
        now: Tick,
        blockers: &mut Blockers,
        rank: Rank,
        keys: &[QueueKey],
        plan: &RoomPlan,
        worker: WorkerId,
        known: &Worker,
        case: &Case,
    ) -> Decision {
        let mut ways = Vec::new();
        for (class, (candidate, (timely, _))) in plan.candidates.iter().zip(&case.candidates).enumerate() {
            let requests = &self.state.classes.get(candidate.class).requests;
            for variant in variants(*timely) {
                if let Some(request) = requests.get(usize::from(variant)) {
                    ways.push(Way { class, variant, request, value: self.value(request, &known.pools) });
                }
            }
        }
        let caps: Vec<u64> = case.candidates.iter().map(|(_, cap)| *cap).collect();
        let (blockers, refused) = (RefCell::new(blockers), Cell::new(false));
        let may = |class: usize, pools: &_| {
            let own = keys[plan.candidates[class].queue];
            let passes = self.passes(now, &mut blockers.borrow_mut(), rank, &case.held_for, own, worker, pools);
            refused.set(refused.get() || !passes);
            passes
        };
        let placed = fill(&mut known.pools.clone(), &ways, &caps, case.most, &may);
        let steps = placed.into_iter().map(|placed| (placed.class, placed.variant)).collect();
        Decision { steps, refused: refused.get() }
    }
}

/// For which better queues places are held on workers, in one level: found once for all workers of a make, as far as it is
/// the same for them.
#[derive(Default)]
struct Standing {
    alike: Option<bool>,
    by_make: BTreeMap<MakeId, Rc<[HeldFor]>>,
}

impl Standing {
    fn of(
        &mut self,
        core: &Scheduler,
        now: Tick,
        blockers: &mut Blockers,
        rank: Rank,
        worker: WorkerId,
        known: &Worker,
    ) -> Rc<[HeldFor]> {
        let alike = *self.alike.get_or_insert_with(|| core.holds_whole_makes(blockers, rank));
        let make = core.mind.makes.of(worker).filter(|_| alike && known.deadline().is_none());
        let mut find = || core.standing(now, blockers, rank, worker).into();
        match make {
            Some(make) => Rc::clone(self.by_make.entry(make).or_insert_with(find)),
            None => find(),
        }
    }
}

const fn has(variants: u32, variant: u8) -> bool {
    variants & (1 << variant) != 0
}

fn variants(bits: u32) -> impl Iterator<Item = u8> {
    (0..u32::BITS as u8).filter(move |variant| has(bits, *variant))
}

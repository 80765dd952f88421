//! The queues of one level on the workers within reach.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use hq_core::{ClassId, Quantity, Tick, WorkerId};

use super::{
    assign::{Site, assign},
    blocked::{Asker, Blockers, HeldFor},
    fill::{Placed, Way},
    lanes::has_time,
    looks::Looks,
    reach::Reach,
    slots::{LANES_MAX, Slot},
};
use crate::{
    Scheduler,
    policy::Rank,
    pool::Pools,
    rooms::{MakeId, RoomId},
    state::{QueueKey, Worker},
};

/// So few tasks, or workers, are tried before all are.
const SOME: usize = 16;

/// A queue of which something fits in a room.
struct Candidate {
    /// Its place in the level.
    queue: usize,
    class: ClassId,
    /// The variants that fit, as bits.
    variants: u32,
    /// Whether all workers of the room are within reach for it, or dirty ones only.
    fresh: bool,
}

/// By room, what of a level fits there.
type Plans = BTreeMap<RoomId, Vec<Candidate>>;

/// What workers have in common that are filled alike: the room, whether they are dirty, and until when they live.
type Alike = (RoomId, bool, Option<Tick>);

impl Scheduler {
    /// Starts up to `budgets` tasks of each queue where the whole is worth most; says how many.
    pub(super) fn fill_workers(
        &mut self,
        now: Tick,
        keys: &[QueueKey],
        rank: Rank,
        budgets: &[u64],
        reach: &Reach<'_>,
        blockers: &mut Blockers,
    ) -> Vec<u64> {
        let slots = self.plan_level(now, keys, rank, budgets, reach, blockers);
        let placed: Vec<u64> = slots.iter().map(|slots| slots.len() as u64).collect();
        for ((key, slots), budget) in keys.iter().zip(slots).zip(budgets) {
            let budget = blockers.backlog_budget(slots.len() as u64, *budget);
            self.open_lanes(now, *key, slots, budget);
        }
        placed
    }

    /// Places for up to `budgets` tasks of each queue, where the whole is worth most.
    pub(super) fn plan_level(
        &mut self,
        now: Tick,
        keys: &[QueueKey],
        rank: Rank,
        budgets: &[u64],
        reach: &Reach<'_>,
        blockers: &mut Blockers,
    ) -> Vec<Vec<Slot>> {
        let lots = self.lots(keys, budgets, !blockers.reservations.is_empty(), |key| reach.fresh.contains(key));
        let plans = self.plans(&lots.keys, reach);
        let mut looks = Looks::for_level();
        let mut first = |most: usize| {
            self.share_out(now, &lots.keys, rank, &lots.budgets, reach, &plans, most, &mut looks, blockers)
        };
        let (mut workers, mut placed) = (vec![], vec![]);
        for most in self.how_many(&lots.keys, &lots.budgets) {
            let is_all;
            (workers, placed, is_all) = first(*most);
            if is_all {
                break;
            }
        }
        self.mind.effort.combined += looks.used();
        let mut slots: Vec<Vec<Slot>> = lots.keys.iter().map(|_| vec![]).collect();
        let mut left: Vec<(WorkerId, std::vec::IntoIter<Placed>)> =
            workers.into_iter().zip(placed.into_iter().map(Vec::into_iter)).collect();
        left.sort_by_key(|(worker, _)| *worker);
        // Turn by turn, so that they come in their order.
        for turn in 0.. {
            left.retain(|(_, placed)| !placed.as_slice().is_empty());
            if left.is_empty() {
                break;
            }
            for (worker, placed) in &mut left {
                if let Some(Placed { class, variant, allocation }) = placed.next() {
                    slots[class].push(Slot { worker: *worker, variant, allocation, turn });
                }
            }
        }
        lots.hand_out(slots, budgets)
    }

    /// Rooms in which something of the level fits.
    fn plans(&mut self, keys: &[QueueKey], reach: &Reach<'_>) -> Plans {
        let mut plans = Plans::new();
        for (queue, key) in keys.iter().enumerate() {
            let fresh = reach.fresh.contains(key);
            self.rooms_for(reach, key.class, fresh, |room, variants| {
                plans.entry(room).or_default().push(Candidate { queue, class: key.class, variants, fresh });
            });
        }
        plans
    }

    /// What the first `most` workers get, and whether more workers would get nothing.
    #[expect(clippy::too_many_arguments, reason = "what a pass knows")]
    fn share_out(
        &self,
        now: Tick,
        keys: &[QueueKey],
        rank: Rank,
        budgets: &[u64],
        reach: &Reach<'_>,
        plans: &Plans,
        most: usize,
        looks: &mut Looks,
        blockers: &mut Blockers,
    ) -> (Vec<WorkerId>, Vec<Vec<Placed>>, bool) {
        let mut standing = Standing::default();
        let mut groups: BTreeMap<Alike, (usize, Rc<Vec<Way<'_>>>)> = BTreeMap::new();
        let (mut workers, mut sites, mut held_for) = (vec![], vec![], vec![]);
        let (first, is_cut) = self.in_order(plans, reach, most);
        for (worker, room) in first {
            let Some(known) = self.state.workers.get(&worker).filter(|known| known.takes_tasks()) else { continue };
            let Some(plan) = plans.get(&room) else { continue };
            let next = groups.len();
            let alike = (room, reach.dirty.contains(&worker), known.deadline());
            let ways = || Rc::new(self.ways_of(now, plan, alike.1, known));
            let (group, ways) = groups.entry(alike).or_insert_with(|| (next, ways()));
            if !ways.is_empty() {
                workers.push(worker);
                held_for.push(standing.of(self, now, blockers, rank, worker, known));
                sites.push(Site {
                    pools: known.pools.clone(),
                    ways: Rc::clone(ways),
                    most: LANES_MAX.saturating_sub(known.grants.len()) as u64,
                    group: *group,
                });
            }
        }
        let free = blockers.is_empty();
        let blockers = RefCell::new(blockers);
        let may = |at: usize, i: usize, pools: &Pools| {
            let mut blockers = blockers.borrow_mut();
            let asker = Asker { now, rank, queue: keys[i], worker: workers[at] };
            free || self.passes(asker, &mut blockers, &held_for[at], pools)
        };
        let mut left = budgets.to_vec();
        let placed = assign(&mut sites, &mut left, free, looks, &may);
        (workers, placed, !is_cut || left.iter().all(|left| *left == 0))
    }

    /// How many workers are looked at, and how many if these are not enough. It begins with a few where so few tasks wait that the
    /// first workers are enough, none of which runs one of them better than another does.
    fn how_many(&self, keys: &[QueueKey], budgets: &[u64]) -> &'static [usize] {
        let same_anywhere = |key: &QueueKey| match &self.state.classes.get(key.class).requests[..] {
            [request] => request.entries().iter().all(|entry| entry.quantity != Quantity::All),
            _ => false,
        };
        match budgets.iter().fold(0, |sum: u64, n| sum.saturating_add(*n)) {
            1 if keys.iter().all(same_anywhere) => &[1, SOME, usize::MAX],
            n if n <= SOME as u64 && keys.iter().all(same_anywhere) => &[SOME, usize::MAX],
            _ => &[usize::MAX],
        }
    }

    /// The first `most` workers in the order in which they are filled: scarce resources last, low ids first. And whether there
    /// may be more of them: of the first ones some may take no tasks, or have no time for them.
    fn in_order(&self, plans: &Plans, reach: &Reach<'_>, most: usize) -> (Vec<(WorkerId, RoomId)>, bool) {
        let mut ordered: Vec<(usize, WorkerId, RoomId)> = Vec::new();
        for (room, candidates) in plans {
            let mut last = None;
            let fresh = candidates.iter().any(|candidate| candidate.fresh);
            for _ in 0..most {
                last = reach.worker_after(&self.mind.rooms, *room, last, fresh);
                let Some((worker, known)) = last.and_then(|worker| Some((worker, self.state.workers.get(&worker)?)))
                else {
                    break;
                };
                ordered.push((known.config.resources.resources().len(), worker, *room));
            }
        }
        ordered.sort_unstable();
        let is_cut = ordered.len() >= most;
        ordered.truncate(most);
        (ordered.into_iter().map(|(_, worker, room)| (worker, room)).collect(), is_cut)
    }

    fn ways_of(&self, now: Tick, plan: &[Candidate], dirty: bool, known: &Worker) -> Vec<Way<'_>> {
        let mut ways = Vec::new();
        for candidate in plan.iter().filter(|candidate| candidate.fresh || dirty) {
            let requests = &self.state.classes.get(candidate.class).requests;
            for variant in variants(candidate.variants) {
                let request = requests.get(usize::from(variant));
                if let Some(request) = request.filter(|request| has_time(known.deadline(), now, request.min_time())) {
                    let value = self.value(request, &known.pools);
                    ways.push(Way { class: candidate.queue, variant, request, value });
                }
            }
        }
        ways
    }

    /// What of a level could start now on a worker that ends at `deadline`.
    pub(super) fn ways(
        &self,
        now: Tick,
        keys: &[QueueKey],
        queues: &[usize],
        deadline: Option<Tick>,
        pools: &Pools,
    ) -> Vec<Way<'_>> {
        let mut ways = Vec::new();
        for class in queues.iter().copied() {
            for (variant, request) in (0..).zip(&self.state.classes.get(keys[class].class).requests) {
                if has_time(deadline, now, request.min_time()) && pools.fits(request) {
                    ways.push(Way { class, variant, request, value: self.value(request, pools) });
                }
            }
        }
        ways
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

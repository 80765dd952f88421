//! Queues that have no room, and what may pass them.

use std::collections::{BTreeMap, BTreeSet};

use hq_core::{ClassId, Tick, WorkerId};

use super::{
    gives::Gives,
    lanes::has_time,
    reserve::Reservation,
    timeline::{Booking, Timeline},
};
use crate::{
    Scheduler,
    policy::{PassRule, QueueView, Rank},
    pool::Pools,
    state::QueueKey,
};

/// Queues that could use workers which have no room for them now. A worker that is among the first so many of a class, in
/// the order in which its places are held, holds one; the others are not needed.
#[derive(Debug, Default)]
pub(crate) struct Blockers {
    /// By class, in order of rank.
    levels: BTreeMap<ClassId, Vec<Level>>,
    /// How many workers each queue wants to be held by a rank, and what may pass it. By two ranks where its head is overdue.
    needed: BTreeMap<(QueueKey, Rank), (u64, PassRule)>,
    /// Workers that could be held, and their place in the order; only where somebody has asked, and only so many.
    orders: BTreeMap<ClassId, HoldOrder>,
    pub(super) gives: Gives,
    /// Queues for whose sake something was refused.
    pub(super) in_the_way: BTreeSet<QueueKey>,
    /// What was refused where, and will not be allowed any more in this pass: it only gets tighter.
    pub(super) refused: BTreeSet<(QueueKey, WorkerId)>,
    /// Workers on which something was refused.
    pub(super) kept: BTreeSet<WorkerId>,
    /// In order of rank.
    pub(super) reservations: Vec<Reservation>,
    /// Of workers with a reservation; only where somebody has asked.
    pub(super) timelines: BTreeMap<WorkerId, Timeline>,
}

/// Who asks for a place, where and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker {
    pub(crate) now: Tick,
    /// By which it goes past others.
    pub(crate) rank: Rank,
    pub(crate) queue: QueueKey,
    pub(crate) worker: WorkerId,
}

/// A queue for which a place is held, and whether nothing may pass it.
pub(super) type HeldFor = (QueueKey, bool);

/// The first `most` workers to be held for a class.
#[derive(Debug, Default)]
struct HoldOrder {
    most: u64,
    workers: Vec<WorkerId>,
    /// Their places in that order.
    places: BTreeMap<WorkerId, u64>,
}

#[derive(Debug)]
struct Level {
    rank: Rank,
    key: QueueKey,
    /// How many this queue and the better ones of the class want to be held together.
    most: u64,
    rule: PassRule,
}

impl Blockers {
    pub(super) fn add(&mut self, rank: Rank, key: QueueKey, needed: u64, rule: PassRule) {
        let levels = self.levels.entry(key.class).or_default();
        // Overdue ones come before others of their level that may have been found to have no room earlier.
        let at = levels.partition_point(|level| (level.rank, level.key) < (rank, key));
        let better = levels[..at].last().map_or(0, |level| level.most);
        levels.insert(at, Level { rank, key, most: better, rule });
        levels[at..].iter_mut().for_each(|level| level.most = level.most.saturating_add(needed));
        self.needed.insert((key, rank), (needed, rule));
    }

    /// What a queue wants to be held, by rank.
    fn wants(&self, key: QueueKey) -> impl Iterator<Item = (Rank, u64, PassRule)> + '_ {
        let all = self.needed.range((key, (i64::MIN, i64::MIN))..=(key, (i64::MAX, i64::MAX)));
        all.map(|((_, rank), (needed, rule))| (*rank, *needed, *rule))
    }

    /// Queues of a set that are blocked.
    pub(super) fn among(&self, queues: &BTreeSet<QueueKey>) -> Vec<QueueKey> {
        let reserved = |key: &QueueKey| self.reservations.iter().any(|reservation| reservation.key == *key);
        queues.iter().filter(|key| self.wants(**key).next().is_some() || reserved(key)).copied().collect()
    }

    /// Of the queues of each class among `queues` that which wants most workers held: these are all that the others want, too.
    /// And those with reservations.
    pub(super) fn greediest(&self, queues: &[QueueKey]) -> Vec<QueueKey> {
        let is_reserved = |key: &QueueKey| self.reservations.iter().any(|reservation| reservation.key == *key);
        let mut of_class: BTreeMap<ClassId, (u64, QueueKey)> = BTreeMap::new();
        for key in queues.iter().filter(|key| !is_reserved(key)) {
            let needed = self.wants(*key).map(|(_, needed, _)| needed).reduce(u64::saturating_add);
            if let Some(needed) = needed {
                let most = of_class.entry(key.class).or_insert((needed, *key));
                *most = (*most).max((needed, *key));
            }
        }
        let reserved = queues.iter().filter(|key| is_reserved(key)).copied();
        of_class.into_values().map(|(_, key)| key).chain(reserved).collect()
    }

    /// Those of `queues` alone.
    pub(super) fn only(&self, queues: &[QueueKey]) -> Self {
        let mut some = Self { gives: self.gives.clone(), ..Self::default() };
        let known = |key: &QueueKey| {
            let key = *key;
            self.wants(key).map(move |(rank, needed, rule)| (rank, key, needed, rule))
        };
        let mut ranked: Vec<(Rank, QueueKey, u64, PassRule)> = queues.iter().flat_map(known).collect();
        ranked.sort_unstable_by_key(|(rank, key, ..)| (*rank, *key));
        ranked.into_iter().for_each(|(rank, key, needed, rule)| some.add(rank, key, needed, rule));
        some.reservations.extend(self.reservations.iter().filter(|other| queues.contains(&other.key)).cloned());
        some
    }

    /// All but `queues`.
    pub(super) fn without(&self, queues: &BTreeSet<QueueKey>) -> Self {
        let reserved = self.reservations.iter().map(|reservation| &reservation.key);
        let others = self.needed.keys().map(|(key, _)| key).chain(reserved).filter(|key| !queues.contains(key));
        self.only(&others.copied().collect::<BTreeSet<QueueKey>>().into_iter().collect::<Vec<QueueKey>>())
    }

    /// Where in the order of its class the workers are that a queue wants to be held: from how many that are held for others on to
    /// how many with its own.
    fn spans_of(&self, key: QueueKey) -> Vec<(u64, u64)> {
        let mut spans: Vec<(u64, u64)> = Vec::new();
        let mut better = 0;
        for level in self.levels.get(&key.class).into_iter().flatten() {
            if level.key == key {
                match spans.last_mut().filter(|(_, end)| *end == better) {
                    Some((_, end)) => *end = level.most,
                    None => spans.push((better, level.most)),
                }
            }
            better = level.most;
        }
        spans
    }

    /// The same of what it wants first.
    fn first_span_of(&self, key: QueueKey) -> Option<(u64, u64)> {
        let levels = self.levels.get(&key.class)?;
        let at = levels.iter().position(|level| level.key == key)?;
        let better = at.checked_sub(1).and_then(|at| levels.get(at)).map_or(0, |level| level.most);
        levels.get(at).map(|level| (better, level.most))
    }

    /// What stood in the way of others in a copy stands in their way.
    pub(super) fn note_met(&mut self, copy: Self) {
        self.in_the_way.extend(copy.in_the_way);
        self.kept.extend(copy.kept);
    }

    /// The best rank of all that are blocked.
    pub(super) fn best_rank(&self) -> Option<Rank> {
        let first = self.levels.values().filter_map(|levels| Some(levels.first()?.rank));
        first.chain(self.reservations.iter().map(|reservation| reservation.rank)).min()
    }

    /// Whether nobody is blocked.
    pub(super) fn is_empty(&self) -> bool {
        self.needed.is_empty() && self.reservations.is_empty()
    }

    /// The order in which places of these classes are held is to be found out anew.
    pub(super) fn forget_orders(&mut self, of: impl Fn(ClassId) -> bool) {
        self.orders.retain(|class, _| !of(*class));
    }

    /// What is reserved on a worker.
    pub(super) fn booked(&self, worker: WorkerId) -> Vec<Booking> {
        let here = self.reservations.iter().filter(|reservation| reservation.workers.contains(&worker));
        here.map(|reservation| reservation.booking.clone()).collect()
    }

    /// For when a queue has a reservation.
    pub(super) fn reserved_at(&self, key: QueueKey) -> Option<Tick> {
        self.reservations.iter().find(|reservation| reservation.key == key).map(|reservation| reservation.booking.at)
    }

    /// Whether a queue of better rank has a reservation on a worker.
    pub(super) fn is_reserved(&self, worker: WorkerId, rank: Rank) -> bool {
        self.reservations.iter().any(|reservation| reservation.rank < rank && reservation.workers.contains(&worker))
    }

    /// Something was refused for the sake of what is reserved on a worker.
    fn reservation_refuses(&mut self, worker: WorkerId) {
        let here = self.reservations.iter().filter(|reservation| reservation.workers.contains(&worker));
        self.in_the_way.extend(here.map(|reservation| reservation.key));
        self.kept.insert(worker);
    }

    /// How many tasks may go into lanes when `placed` of them start at once: backlogs could last into a reservation.
    pub(super) fn backlog_budget(&self, placed: u64, budget: u64) -> u64 {
        if self.reservations.is_empty() { budget } else { placed }
    }

    /// Classes with a blocked queue of better rank.
    fn better(&self, rank: Rank) -> Vec<ClassId> {
        let better = |levels: &[Level]| levels.first().is_some_and(|level| level.rank < rank);
        self.levels.iter().filter(|(_, levels)| better(levels)).map(|(class, _)| *class).collect()
    }
}

impl Scheduler {
    /// Notes that what is left of a queue has no room.
    pub(super) fn block(&self, blockers: &mut Blockers, key: QueueKey, rank: Rank, view: &QueueView) {
        match self.needed(key, view) {
            (_, PassRule::Free) => {}
            (needed, rule @ (PassRule::Gap | PassRule::Strict)) => blockers.add(rank, key, needed, rule),
            (_, PassRule::Shadow) => {
                if blockers.reservations.len() < self.policies.order().reservations() {
                    self.reserve(view.now, blockers, key, rank);
                }
            }
        }
    }

    /// How many workers a queue wants to be held if it has no room, and what may pass it.
    pub(super) fn needed(&self, key: QueueKey, view: &QueueView) -> (u64, PassRule) {
        let rule = self.policies.order().pass_rule_of(view);
        let all = rule == PassRule::Strict || self.state.classes.get(key.class).is_gang();
        (if all { u64::MAX } else { view.waiting }, rule)
    }

    /// The best queue of `class` for which a place on the worker is held.
    pub(super) fn holder(
        &self,
        now: Tick,
        blockers: &mut Blockers,
        class: ClassId,
        worker: WorkerId,
    ) -> Option<(Rank, QueueKey, PassRule)> {
        let position = self.hold_position(now, blockers, class, worker)?;
        let levels = blockers.levels.get(&class)?;
        let level = levels.get(levels.partition_point(|level| level.most <= position))?;
        Some((level.rank, level.key, level.rule))
    }

    /// Workers that hold a place for a queue, none for all of them; nothing where it is not blocked.
    pub(super) fn holders(
        &self,
        now: Tick,
        blockers: &mut Blockers,
        key: QueueKey,
    ) -> Option<Option<BTreeSet<WorkerId>>> {
        if let Some(reservation) = blockers.reservations.iter().find(|reservation| reservation.key == key) {
            return Some(Some(reservation.workers.clone()));
        }
        let spans = blockers.spans_of(key);
        if spans.first().is_some_and(|(better, most)| *better == 0 && self.all_are_held(key.class, *most)) {
            return Some(None);
        }
        spans
            .into_iter()
            .map(|span| self.workers_in(now, blockers, key.class, span))
            .reduce(|mut all, more| {
                all.extend(more);
                all
            })
            .map(Some)
    }

    /// Workers that are held for the head of a queue that is overdue, and so against its equals as well.
    pub(super) fn holders_of_overdue(&self, now: Tick, blockers: &mut Blockers, key: QueueKey) -> BTreeSet<WorkerId> {
        let span = blockers.first_span_of(key).filter(|_| self.is_overdue(key));
        span.map(|span| self.workers_in(now, blockers, key.class, span)).unwrap_or_default()
    }

    /// Workers of some places in the order in which places are held for a class.
    fn workers_in(
        &self,
        now: Tick,
        blockers: &mut Blockers,
        class: ClassId,
        (better, most): (u64, u64),
    ) -> BTreeSet<WorkerId> {
        if self.all_are_held(class, better) {
            return BTreeSet::new();
        }
        let order = self.order_of(now, blockers, class, most);
        let end = order.workers.len().min(usize::try_from(most).unwrap_or(usize::MAX));
        let held = order.workers.get(usize::try_from(better).unwrap_or(usize::MAX)..end).unwrap_or_default();
        held.iter().copied().filter(|worker| self.mind.makes.can(*worker, class)).collect()
    }

    /// The worker's place in the order in which places are held for a class. Those that come after all that hold one for a queue
    /// which does not want all have the same.
    fn hold_position(&self, now: Tick, blockers: &mut Blockers, class: ClassId, worker: WorkerId) -> Option<u64> {
        let levels = blockers.levels.get(&class)?;
        let few = levels.partition_point(|level| !self.all_are_held(class, level.most));
        let wanted = few.checked_sub(1).and_then(|at| levels.get(at)).map_or(0, |level| level.most);
        let all = few < levels.len();
        if wanted > 0 {
            let place = self.order_of(now, blockers, class, wanted).places.get(&worker).copied();
            if place.is_some() || !all {
                return place;
            }
        }
        let gives = self.lives_for(now, worker, class) && self.could_give(now, &blockers.gives, worker, class);
        (self.mind.makes.can(worker, class) && gives).then_some(wanted)
    }

    /// At least the first `most` workers in the order in which places are held for a class.
    fn order_of<'a>(&self, now: Tick, blockers: &'a mut Blockers, class: ClassId, most: u64) -> &'a HoldOrder {
        let known = blockers.orders.entry(class).or_default();
        if known.most < most {
            let workers = self.hold_order(now, &blockers.gives, class, most);
            // To a gang they are all the same.
            let gang = self.state.classes.get(class).is_gang();
            let place = |(worker, place): (&WorkerId, u64)| (*worker, if gang { 0 } else { place });
            *known = HoldOrder { most, places: workers.iter().zip(0..).map(place).collect(), workers };
        }
        known
    }

    /// Whether so many tasks of a class want to be held that every worker is which could ever run one.
    pub(super) fn all_are_held(&self, class: ClassId, needed: u64) -> bool {
        needed >= self.mind.makes.count(class) && !self.state.classes.get(class).is_gang()
    }

    /// The first `most` workers to be held for a class, in order: those that run none of it first, and
    /// among them those of high id, since low ones fill up first anyway. Last those that a gang has, for as long as it likes.
    ///
    /// Each class chooses for itself, so that two of them may hold the same worker; together they then hold fewer than they want,
    /// and more is left to what comes behind them. Nothing that is promised breaks: what comes first of all gets its place, since
    /// nobody else's hold is in its way, and then the next one comes first, so that each waits for those before it alone
    /// (`tests/hold_apart.rs`). Only behind better ones without end may it wait without end, as it may by its priority anyway.
    /// To hold apart would not change that: what is better takes whichever worker is free first, its own hold or another's.
    /// It would cost the order of each class its independence of the others, and so its keeping from one level to the next.
    fn hold_order(&self, now: Tick, gives: &Gives, class: ClassId, most: u64) -> Vec<WorkerId> {
        if self.state.classes.get(class).is_gang() {
            return self.hold_for_gang(now, class).into_iter().collect();
        }
        let none = BTreeMap::new();
        let running = self.mind.runs.get(&class).unwrap_or(&none);
        let could =
            |worker: &WorkerId| self.lives_for(now, *worker, class) && self.could_give(now, gives, *worker, class);
        let in_gang = |worker: &WorkerId| self.state.workers.get(worker).is_some_and(|known| known.gang.is_some());
        let capable = || self.mind.makes.capable_from_last(class).filter(could);
        // Nobody looks for more of the others than there are: often it is none.
        let n = (self.mind.makes.count(class) as usize).saturating_sub(running.len());
        let others = capable().filter(|worker| !in_gang(worker) && !running.contains_key(worker)).take(n);
        let running = capable().filter(|worker| !in_gang(worker) && running.contains_key(worker));
        others
            .chain(running)
            .chain(capable().filter(in_gang))
            .take(usize::try_from(most).unwrap_or(usize::MAX))
            .collect()
    }

    /// Whether a worker that could ever run the class has the time for it.
    fn lives_for(&self, now: Tick, worker: WorkerId, class: ClassId) -> bool {
        self.state.workers.get(&worker).is_some_and(|known| {
            if known.deadline().is_none() {
                return true;
            }
            let requests = &self.state.classes.get(class).requests;
            requests
                .iter()
                .any(|request| has_time(known.deadline(), now, request.min_time()) && known.pools.could_ever(request))
        })
    }

    /// Whether one more task of a queue may be placed on a worker whose free state is `pools`, past all that are blocked.
    pub(super) fn may_pass(&self, asker: Asker, blockers: &mut Blockers, pools: &Pools) -> bool {
        let held_for = self.standing(asker.now, blockers, asker.rank, asker.worker);
        self.passes(asker, blockers, &held_for, pools)
    }

    /// Better queues for which a place on the worker is held, one of each class, and what may pass them. Reservations are not
    /// among them.
    pub(super) fn standing(&self, now: Tick, blockers: &mut Blockers, rank: Rank, worker: WorkerId) -> Vec<HeldFor> {
        let classes = blockers.better(rank).into_iter();
        let holders = classes.filter_map(|high| self.holder(now, blockers, high, worker));
        holders.filter(|(better, ..)| *better < rank).map(|(_, key, rule)| (key, rule == PassRule::Strict)).collect()
    }

    /// Whether one more task may be placed past those for which the worker is held.
    pub(super) fn passes(&self, asker: Asker, blockers: &mut Blockers, held_for: &[HeldFor], pools: &Pools) -> bool {
        let Asker { rank, queue, worker, .. } = asker;
        let stops = |(high, strict): &&HeldFor| *strict || self.gap(high.class, queue.class, worker, pools) == 0;
        if let Some((high, _)) = held_for.iter().find(stops) {
            blockers.in_the_way.insert(*high);
            blockers.refused.insert((queue, worker));
            blockers.kept.insert(worker);
            return false;
        }
        if blockers.is_reserved(worker, rank) && !self.keeps_reservations(asker, blockers, pools) {
            blockers.reservation_refuses(worker);
            blockers.refused.insert((queue, worker));
            return false;
        }
        true
    }

    /// Whether workers of one make without a time limit are held for the same better queues.
    pub(super) fn holds_whole_makes(&self, blockers: &Blockers, rank: Rank) -> bool {
        let first = |(class, levels): (&ClassId, &Vec<Level>)| {
            let least = levels.first().filter(|level| level.rank < rank)?;
            Some(self.all_are_held(*class, least.most))
        };
        blockers.levels.iter().filter_map(first).all(|whole| whole)
    }

    /// Whether a place on the worker is held for a better queue, so that a gang cannot have it.
    pub(super) fn is_held(&self, asker: Asker, blockers: &mut Blockers) -> bool {
        let Asker { now, rank, worker, .. } = asker;
        for high in blockers.better(rank) {
            if let Some((_, key, _)) = self.holder(now, blockers, high, worker).filter(|(better, ..)| *better < rank) {
                blockers.in_the_way.insert(key);
                blockers.kept.insert(worker);
                return true;
            }
        }
        if blockers.is_reserved(worker, rank) && !self.gang_keeps_reservations(asker, blockers) {
            blockers.reservation_refuses(worker);
            return true;
        }
        false
    }
}

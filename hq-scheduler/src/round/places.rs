//! Places of a class that fit, as the placement ranks them: kept from round to round, looked at again where a worker changed.

use std::{
    borrow::Cow,
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use hq_core::{ClassId, GrantId, Request, WorkerId};

use crate::{
    Scheduler,
    policy::{Fragmentation, PlacementKey, SlotView},
    pool::Pools,
    state::Worker,
};

/// A worker and a variant that fits there, by what the placement says of it.
pub(super) type Place = (PlacementKey, WorkerId, u8);

/// More places are not kept: classes may be many.
const PLACES_MAX: usize = 1 << 20;

/// What is known of all classes that were placed lately.
#[derive(Debug, Default)]
pub(crate) struct KnownPlaces {
    of_class: BTreeMap<ClassId, PlacesOfClass>,
    /// Places in all of them.
    count: usize,
    /// When workers changed last, counted in changes.
    changed: BTreeMap<WorkerId, u64>,
    /// The same by time.
    changes: BTreeMap<u64, WorkerId>,
    last_change: u64,
    /// Of workers that have not changed since.
    fragmentation: BTreeMap<WorkerId, Fragmentation>,
}

#[derive(Debug, Default)]
struct PlacesOfClass {
    /// Later changes of workers have not been looked at.
    seen: u64,
    of_worker: BTreeMap<WorkerId, Vec<Place>>,
    sorted: BTreeSet<Place>,
}

impl KnownPlaces {
    /// What is free on a worker, or the lanes there, changed.
    pub(crate) fn touch(&mut self, worker: WorkerId) {
        if self.of_class.is_empty() {
            return;
        }
        self.last_change += 1;
        if let Some(before) = self.changed.insert(worker, self.last_change) {
            self.changes.remove(&before);
        }
        self.changes.insert(self.last_change, worker);
        self.fragmentation.remove(&worker);
    }

    /// Nothing is known of a class any more.
    pub(crate) fn forget(&mut self, class: ClassId) {
        self.count -= self.of_class.remove(&class).map_or(0, |places| places.sorted.len());
    }

    /// Something changed that any place may depend on.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The places of a class, the best first.
    pub(super) fn sorted(&self, class: ClassId) -> impl Iterator<Item = Place> + '_ {
        self.of_class.get(&class).into_iter().flat_map(|places| places.sorted.iter().copied())
    }

    /// The same on a few workers.
    pub(super) fn sorted_of<'a>(&self, class: ClassId, workers: impl Iterator<Item = &'a WorkerId>) -> BTreeSet<Place> {
        let Some(places) = self.of_class.get(&class) else { return BTreeSet::new() };
        workers.filter_map(|worker| places.of_worker.get(worker)).flatten().copied().collect()
    }
}

impl PlacesOfClass {
    fn set(&mut self, worker: WorkerId, places: Vec<Place>) {
        for before in self.of_worker.remove(&worker).into_iter().flatten() {
            self.sorted.remove(&before);
        }
        if !places.is_empty() {
            self.sorted.extend(places.iter().copied());
            self.of_worker.insert(worker, places);
        }
    }
}

/// What a worker has left in a pass.
pub(super) struct Room<'a> {
    pub(super) pools: Cow<'a, Pools>,
    pub(super) lanes: usize,
    pub(super) last_lane: Option<GrantId>,
    /// Of the pools, once somebody asked.
    fragmentation: Cell<Option<Fragmentation>>,
}

impl<'a> Room<'a> {
    pub(super) fn of(worker: &'a Worker) -> Self {
        Self {
            pools: Cow::Borrowed(&worker.pools),
            lanes: worker.grants.len(),
            last_lane: worker.last_lane,
            fragmentation: Cell::new(None),
        }
    }

    /// A lane gets its resources; nothing happens where they are not there.
    pub(super) fn open(&mut self, lane: GrantId, allocation: &hq_core::Allocation) -> bool {
        let fits = self.pools.to_mut().take(allocation);
        if fits {
            self.lanes += 1;
            self.last_lane = Some(lane);
            self.fragmentation = Cell::new(None);
        }
        fits
    }
}

impl Scheduler {
    /// Makes sure that the places of a class are known as they are now.
    pub(super) fn learn_places(&mut self, class: ClassId) {
        if self.renew_typical() {
            self.mind.known_places.clear();
        }
        if self.mind.known_places.count > PLACES_MAX {
            self.mind.known_places.clear();
        }
        let mut of_class = self.mind.known_places.of_class.remove(&class);
        let changed: Vec<WorkerId> = match &of_class {
            Some(known) => {
                let later = self.mind.known_places.changes.range(known.seen + 1..).map(|(_, worker)| *worker);
                later.filter(|worker| self.mind.makes.can(*worker, class)).collect()
            }
            None => self.workers_with_room(class),
        };
        let places = of_class.get_or_insert_default();
        places.seen = self.mind.known_places.last_change;
        let before = places.sorted.len();
        for worker in changed {
            let Some(known) = self.state.workers.get(&worker).filter(|known| known.gang.is_none()) else {
                places.set(worker, vec![]);
                continue;
            };
            let room = Room::of(known);
            room.fragmentation.set(self.mind.known_places.fragmentation.get(&worker).copied());
            let fitting = self.places(worker, &room, &self.state.classes.get(class).requests);
            places.set(worker, fitting);
            if let Some(fragmentation) = room.fragmentation.get() {
                self.mind.known_places.fragmentation.insert(worker, fragmentation);
            }
        }
        self.mind.known_places.count += places.sorted.len();
        self.mind.known_places.count -= before;
        self.mind.known_places.of_class.extend(of_class.map(|places| (class, places)));
    }

    /// The variants that fit where so much is left, and their keys.
    pub(super) fn places(&self, worker: WorkerId, room: &Room<'_>, requests: &[Arc<Request>]) -> Vec<Place> {
        let place = |(variant, request): (u8, &Arc<Request>)| {
            let allocation = &room.pools.allocate(request)?;
            let slot = SlotView {
                worker,
                free: &room.pools,
                lanes: room.lanes,
                last_lane: room.last_lane,
                variant,
                allocation,
                value: self.value(request, &room.pools),
                typical: &self.mind.typical,
                fragmentation: &room.fragmentation,
            };
            Some((self.policies.placement().key(&slot), worker, variant))
        };
        (0..).zip(requests).filter_map(place).collect()
    }
}

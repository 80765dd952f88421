use std::collections::{BTreeMap, BTreeSet};

use hq_core::{ClassId, WorkerId};

use crate::{
    Scheduler,
    rooms::{RoomId, Rooms},
    state::QueueKey,
};

/// Where a pass looks for places: everywhere for queues that got tasks, and for the others on workers that got room.
pub(super) struct Reach<'a> {
    pub(super) fresh: &'a BTreeSet<QueueKey>,
    pub(super) dirty: &'a BTreeSet<WorkerId>,
    /// The dirty workers of each room, and the room of each of them.
    rooms: BTreeMap<RoomId, BTreeSet<WorkerId>>,
    of: BTreeMap<WorkerId, RoomId>,
}

impl<'a> Reach<'a> {
    pub(super) fn new(fresh: &'a BTreeSet<QueueKey>, dirty: &'a BTreeSet<WorkerId>, rooms: &Rooms) -> Self {
        let mut reach = Self { fresh, dirty, rooms: BTreeMap::new(), of: BTreeMap::new() };
        dirty.iter().for_each(|worker| reach.follow(*worker, rooms));
        reach
    }

    /// A worker may be in another room now.
    fn follow(&mut self, worker: WorkerId, rooms: &Rooms) {
        if !self.dirty.contains(&worker) {
            return;
        }
        let room = rooms.of(worker);
        let before = match room {
            Some(room) => self.of.insert(worker, room),
            None => self.of.remove(&worker),
        };
        if before == room {
            return;
        }
        if let Some(before) = before
            && let Some(workers) = self.rooms.get_mut(&before)
        {
            workers.remove(&worker);
            if workers.is_empty() {
                self.rooms.remove(&before);
            }
        }
        if let Some(room) = room {
            self.rooms.entry(room).or_default().insert(worker);
        }
    }

    /// Rooms of workers that got room.
    pub(super) fn rooms(&self) -> impl Iterator<Item = RoomId> + '_ {
        self.rooms.keys().copied()
    }

    /// The first worker of a room after `last` that can be had for a queue that is fresh, or for one that is not.
    pub(super) fn worker_after(
        &self,
        rooms: &Rooms,
        room: RoomId,
        last: Option<WorkerId>,
        fresh: bool,
    ) -> Option<WorkerId> {
        let workers = if fresh { &rooms.get(room)?.workers } else { self.rooms.get(&room)? };
        let after = last.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
        workers.range((after, std::ops::Bound::Unbounded)).next().copied()
    }
}

impl Scheduler {
    /// Finds the rooms of the workers whose free state has changed.
    pub(super) fn refresh_rooms(&mut self, reach: Option<&mut Reach<'_>>) {
        let moved = std::mem::take(&mut self.mind.moved_workers);
        for worker in &moved {
            self.mind.known_places.touch(*worker);
            self.mind.rooms.refresh(*worker, self.state.workers.get(worker), &self.mind.makes);
        }
        if let Some(reach) = reach {
            moved.iter().for_each(|worker| reach.follow(*worker, &self.mind.rooms));
        }
    }

    /// Tells rooms within reach in which something of the class fits, with the variants that do, as bits.
    pub(super) fn rooms_for(
        &mut self,
        reach: &Reach<'_>,
        class: ClassId,
        fresh: bool,
        mut tell: impl FnMut(RoomId, u32),
    ) {
        let (rooms, state) = (&mut self.mind.rooms, &self.state);
        if fresh {
            rooms.all_fitting(class, state).for_each(|(room, variants)| tell(room, variants));
            return;
        }
        let fitting = reach.rooms.keys().map(|room| (*room, rooms.fitting(*room, class, state)));
        fitting.filter(|(_, variants)| *variants != 0).for_each(|(room, variants)| tell(room, variants));
    }

    /// Workers on which something of the class fits, in order.
    pub(super) fn workers_with_room(&mut self, class: ClassId) -> Vec<WorkerId> {
        let rooms: Vec<RoomId> = self.mind.rooms.all_fitting(class, &self.state).map(|(room, _)| room).collect();
        let rooms = rooms.into_iter().filter_map(|room| self.mind.rooms.get(room));
        let mut workers: Vec<WorkerId> = rooms.flat_map(|room| &room.workers).copied().collect();
        workers.sort_unstable();
        workers
    }

    /// Whether something of the class fits in some room within reach; of a gang, whether some worker is idle.
    pub(super) fn finds_room(&mut self, reach: &Reach<'_>, class: ClassId, fresh: bool) -> bool {
        if self.state.classes.get(class).is_gang() {
            let idle = |worker: &WorkerId| self.state.workers.get(worker).is_some_and(|worker| worker.is_idle());
            return fresh || reach.dirty.iter().any(idle);
        }
        if fresh {
            return self.mind.rooms.all_fitting(class, &self.state).next().is_some();
        }
        reach.rooms.keys().any(|room| self.mind.rooms.fitting(*room, class, &self.state) != 0)
    }
}

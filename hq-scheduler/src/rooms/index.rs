use std::collections::{BTreeMap, BTreeSet};

use hq_core::{ClassId, WorkerId};

use super::{MakeId, Makes};
use crate::{
    round::Ranks,
    state::{Class, State, Worker},
};

/// Names a room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RoomId(u32);

/// So many rooms without workers are remembered, besides as many as there are workers.
const EMPTY_MAX: usize = 64;

/// Which workers are in which room. Members of gangs are in none.
#[derive(Debug, Default)]
pub(crate) struct Rooms {
    ids: BTreeMap<(MakeId, Vec<u64>), RoomId>,
    rooms: BTreeMap<RoomId, Room>,
    of: BTreeMap<WorkerId, RoomId>,
    /// How many have workers.
    used: usize,
    last: u32,
    tests: u64,
}

/// Workers with as much free.
#[derive(Debug, Default)]
pub(crate) struct Room {
    pub(crate) workers: BTreeSet<WorkerId>,
    /// Variants that fit, as bits; of the classes that somebody asked for.
    fits: BTreeMap<ClassId, u32>,
    useless_to: Useless,
}

/// Of the classes that waited as of `arrivals`, no one before `from` fits in a room.
#[derive(Clone, Copy, Debug, Default)]
struct Useless {
    arrivals: u64,
    from: ClassId,
}

impl Rooms {
    /// Finds the room of a worker whose free state may have changed, or that is new or gone.
    pub(crate) fn refresh(&mut self, id: WorkerId, worker: Option<&Worker>, makes: &Makes) {
        let alone = worker.filter(|worker| worker.gang.is_none());
        let room = alone.and_then(|worker| Some((makes.of(id)?, worker.pools.signature().into_free())));
        let last = &mut self.last;
        let room = room.map(|key| {
            *self.ids.entry(key).or_insert_with(|| {
                *last = last.wrapping_add(1);
                RoomId(*last)
            })
        });
        let before = self.of.get(&id).copied();
        if before == room {
            return;
        }
        if let Some(room) = before.and_then(|before| self.rooms.get_mut(&before)) {
            room.workers.remove(&id);
            self.used -= usize::from(room.workers.is_empty());
        }
        match room {
            Some(room) => {
                self.of.insert(id, room);
                let room = self.rooms.entry(room).or_default();
                self.used += usize::from(room.workers.is_empty());
                room.workers.insert(id);
            }
            None => {
                self.of.remove(&id);
            }
        }
        self.forget_empty();
    }

    /// What fits in an empty room is remembered, since it often fills again, but not for ever.
    fn forget_empty(&mut self) {
        if self.rooms.len() > 2 * self.used + EMPTY_MAX {
            self.rooms.retain(|_, room| !room.workers.is_empty());
            self.ids.retain(|_, id| self.rooms.contains_key(id));
        }
    }

    pub(crate) fn of(&self, worker: WorkerId) -> Option<RoomId> {
        self.of.get(&worker).copied()
    }

    /// How often it was found out whether a class fits in a room.
    pub(crate) const fn fit_tests(&self) -> u64 {
        self.tests
    }

    pub(crate) fn get(&self, id: RoomId) -> Option<&Room> {
        self.rooms.get(&id)
    }

    /// Nothing is known of a class any more.
    pub(crate) fn forget(&mut self, class: ClassId) {
        self.rooms.values_mut().for_each(|room| _ = room.fits.remove(&class));
    }

    /// Variants of a class that fit in a room now, as bits, time left aside.
    pub(crate) fn fitting(&mut self, id: RoomId, class: ClassId, state: &State) -> u32 {
        self.rooms.get_mut(&id).map_or(0, |room| room.fitting(class, state, &mut self.tests))
    }

    /// Whether something of any class that waits fits in a room now. What did not once is not asked for again until other
    /// classes wait.
    pub(crate) fn serves_any(&mut self, id: RoomId, ranks: &Ranks, state: &State) -> bool {
        let Some(room) = self.rooms.get_mut(&id).filter(|room| !room.workers.is_empty()) else { return false };
        if room.useless_to.arrivals != ranks.arrivals() {
            room.useless_to = Useless { arrivals: ranks.arrivals(), from: ClassId::default() };
        }
        while let Some(class) = ranks.waiting_from(room.useless_to.from) {
            room.useless_to.from = class;
            if room.fitting(class, state, &mut self.tests) != 0 {
                return true;
            }
            room.useless_to.from.0 += 1;
        }
        false
    }

    /// All rooms in which something of a class fits now, and what.
    pub(crate) fn all_fitting<'a>(
        &'a mut self,
        class: ClassId,
        state: &'a State,
    ) -> impl Iterator<Item = (RoomId, u32)> + 'a {
        let (rooms, tests) = (&mut self.rooms, &mut self.tests);
        let fitting = rooms.iter_mut().map(move |(id, room)| (*id, room.fitting(class, state, tests)));
        fitting.filter(|(_, variants)| *variants != 0)
    }
}

impl Room {
    fn fitting(&mut self, class: ClassId, state: &State, tests: &mut u64) -> u32 {
        let Some(worker) = self.workers.first().and_then(|first| state.workers.get(first)) else { return 0 };
        *self.fits.entry(class).or_insert_with(|| {
            *tests += 1;
            variants_that_fit(state.classes.get(class), worker)
        })
    }
}

fn variants_that_fit(class: &Class, worker: &Worker) -> u32 {
    if !worker.config.runs(&class.kind) {
        return 0;
    }
    let fitting = (0..u32::BITS).zip(&class.requests).filter(|(_, request)| worker.pools.fits(request));
    fitting.map(|(variant, _)| 1 << variant).sum()
}

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use hq_core::{ClassId, CrashLimit, Profile, Request, SnapshotClass, Variants};

/// Tasks that are alike for placement: the same variants, the same kind of body, the same rule of backlogs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    pub(crate) requests: Vec<Arc<Request>>,
    pub(crate) kind: String,
    /// An unreported start could not be told from a waiting task, so tasks that may never run twice are granted one by one.
    pub(crate) no_backlog: bool,
}

impl Class {
    /// Workers of a gang; 0 for tasks of one worker.
    pub(crate) fn nodes(&self) -> u32 {
        self.requests.first().map_or(0, |request| request.nodes())
    }

    pub(crate) fn is_gang(&self) -> bool {
        self.nodes() > 0
    }
}

/// What a class is that nobody has any more.
static GONE: Class = Class { requests: Vec::new(), kind: String::new(), no_backlog: false };

/// What makes a class.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    variants: Variants,
    kind: String,
    no_backlog: bool,
}

/// Interned classes. One that no submit and no lane has any more is forgotten, and its number is given to another, so that
/// classes follow what there is and not what there ever was.
///
/// Numbers are this state's own: no fact names them but those of a snapshot, which says what they are. So states that know
/// of different pasts (a pruned journal leaves out what is over) may number differently, and still follow the same facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Classes {
    /// By number; the last one is never free.
    slots: Vec<Option<Box<Slot>>>,
    ids: BTreeMap<Arc<Key>, ClassId>,
    free: BTreeSet<ClassId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Slot {
    class: Class,
    key: Arc<Key>,
    /// Profiles of submits, and lanes.
    users: u64,
}

impl Classes {
    /// The class of one more profile.
    pub(crate) fn intern(&mut self, profile: &Profile, kind: &str) -> ClassId {
        let no_backlog = profile.crash_limit == CrashLimit::NeverRestart;
        let key = Key { variants: profile.variants.clone(), kind: kind.to_owned(), no_backlog };
        let known = self.ids.get(&key).copied();
        let id = known.unwrap_or_else(|| {
            let id = self.free.pop_first().unwrap_or(ClassId(self.slots.len() as u32));
            self.insert(id, key);
            id
        });
        self.hold(id);
        id
    }

    fn insert(&mut self, id: ClassId, key: Key) {
        let key = Arc::new(key);
        let requests = key.variants.iter().cloned().map(Arc::new).collect();
        let class = Class { requests, kind: key.kind.clone(), no_backlog: key.no_backlog };
        self.ids.insert(Arc::clone(&key), id);
        let slot = Some(Box::new(Slot { class, key, users: 0 }));
        match self.slots.get_mut(id.0 as usize) {
            Some(free) => *free = slot,
            None => self.slots.push(slot),
        }
    }

    fn slot(&self, id: ClassId) -> Option<&Slot> {
        self.slots.get(id.0 as usize)?.as_deref()
    }

    /// One profile or lane more has this class; says whether there is such a class.
    pub(super) fn hold(&mut self, id: ClassId) -> bool {
        self.hold_all(id, 1)
    }

    /// The same of several.
    pub(super) fn hold_all(&mut self, id: ClassId, users: usize) -> bool {
        let slot = self.slots.get_mut(id.0 as usize).and_then(Option::as_mut);
        slot.map(|slot| slot.users += users as u64).is_some()
    }

    /// One profile or lane less has this class. If it was the last one the class is forgotten; it is returned then.
    pub(super) fn release(&mut self, id: ClassId) -> Option<Class> {
        let slot = self.slots.get_mut(id.0 as usize)?.as_mut()?;
        slot.users = slot.users.saturating_sub(1);
        (slot.users == 0).then(|| self.remove(id)).flatten()
    }

    fn remove(&mut self, id: ClassId) -> Option<Class> {
        let slot = self.slots.get_mut(id.0 as usize)?.take()?;
        self.ids.remove(&slot.key);
        self.free.insert(id);
        while self.slots.last().is_some_and(Option::is_none) {
            self.slots.pop();
            self.free.remove(&ClassId(self.slots.len() as u32));
        }
        if self.slots.capacity() > 64 && self.slots.len() < self.slots.capacity() / 4 {
            self.slots.shrink_to(2 * self.slots.len());
        }
        Some(slot.class)
    }

    /// A class; one that asks for nothing where it is forgotten.
    pub(crate) fn get(&self, id: ClassId) -> &Class {
        debug_assert!(self.has(id), "class {id} is gone");
        self.slot(id).map_or(&GONE, |slot| &slot.class)
    }

    pub(crate) fn has(&self, id: ClassId) -> bool {
        self.slot(id).is_some()
    }

    /// All of them, in the order of their numbers, and the numbers between that are free.
    pub(super) fn snapshot(&self) -> (Vec<SnapshotClass>, Vec<ClassId>) {
        let class = |slot: &Slot| SnapshotClass {
            variants: slot.key.variants.clone(),
            kind: slot.key.kind.clone(),
            no_backlog: slot.key.no_backlog,
        };
        (self.slots.iter().flatten().map(|slot| class(slot)).collect(), self.free.iter().copied().collect())
    }

    /// What a snapshot says; the submits and lanes that have the classes are still to come.
    pub(super) fn restored(classes: &[SnapshotClass], free: &[ClassId]) -> Self {
        let mut restored = Self { free: free.iter().copied().collect(), ..Self::default() };
        for class in classes {
            while restored.free.contains(&ClassId(restored.slots.len() as u32)) {
                restored.slots.push(None);
            }
            let SnapshotClass { variants, kind, no_backlog } = class.clone();
            restored.insert(ClassId(restored.slots.len() as u32), Key { variants, kind, no_backlog });
        }
        restored.free.split_off(&ClassId(restored.slots.len() as u32));
        restored
    }

    /// Forgets what nobody has after all.
    pub(super) fn forget_unused(&mut self) {
        let unused = |(at, slot): (usize, &Option<Box<Slot>>)| {
            slot.as_ref().is_some_and(|slot| slot.users == 0).then_some(ClassId(at as u32))
        };
        let unused: Vec<ClassId> = self.slots.iter().enumerate().filter_map(unused).collect();
        unused.into_iter().for_each(|id| drop(self.remove(id)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(cpus: u32) -> Profile {
        Profile::new(Request::cpus(cpus).unwrap())
    }

    fn restored(classes: &Classes) -> Classes {
        let (list, free) = classes.snapshot();
        assert!(free.len() < classes.slots.len() || free.is_empty(), "no more numbers than there are");
        Classes::restored(&list, &free)
    }

    #[test]
    fn a_class_lasts_as_long_as_somebody_has_it() {
        let mut classes = Classes::default();
        let [a, b, c] = [1, 2, 3].map(|cpus| classes.intern(&profile(cpus), "program"));
        assert!(classes.hold(a) && classes.release(a).is_none(), "a lane has it");
        assert_eq!(classes.intern(&profile(1), "program"), a);
        assert!(classes.release(a).is_none());
        let gone = classes.release(a).unwrap();
        assert_eq!((gone.requests.len(), classes.has(a), classes.hold(a)), (1, false, false));
        assert!(classes.release(a).is_none(), "once");
        assert_eq!(classes.intern(&profile(4), "program"), a, "the lowest number that is free");
        assert!(classes.release(b).is_some() && classes.release(c).is_some());
        assert_eq!((classes.slots.len(), classes.free.len(), classes.ids.len()), (1, 0, 1), "nothing is left of them");
    }

    #[test]
    fn a_snapshot_keeps_the_numbers() {
        let mut classes = Classes::default();
        let all = [1, 2, 3, 4, 5].map(|cpus| classes.intern(&profile(cpus), "program"));
        for gone in [0, 2] {
            classes.release(all[gone]);
        }
        let mut again = restored(&classes);
        for (cpus, kept) in [(2, 1), (4, 3), (5, 4)] {
            assert_eq!(again.intern(&profile(cpus), "program"), all[kept]);
        }
        assert_eq!(again, classes, "with all who have them");
        assert_eq!(again.intern(&profile(9), "program"), classes.intern(&profile(9), "program"));
        let mut unused = restored(&classes);
        unused.forget_unused();
        assert_eq!(unused, Classes::default());
    }

    #[test]
    fn numbers_beyond_all_classes_are_not_believed() {
        let kept = SnapshotClass { variants: profile(1).variants, kind: "program".into(), no_backlog: false };
        let mut classes = Classes::restored(&[kept], &[ClassId(0), ClassId(u32::MAX)]);
        assert_eq!((classes.slots.len(), classes.free.len()), (2, 1));
        assert_eq!(classes.intern(&profile(1), "program"), ClassId(1));
    }
}

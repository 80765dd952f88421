use std::collections::{BTreeMap, BTreeSet};

use hq_core::{ClassId, WorkerId};

use crate::{
    pool::{Pools, Signature},
    state::{Class, Worker},
    value::could_ever,
};

/// Names a make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MakeId(u32);

/// What never changes of a worker and matters for what could run there, its time limit left aside.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Make {
    idle: Signature,
    kinds: Vec<String>,
    min_utilization: u32,
}

/// The makes of all workers, and which classes could ever run on them.
#[derive(Debug, Default)]
pub(crate) struct Makes {
    ids: BTreeMap<Make, MakeId>,
    workers: BTreeMap<MakeId, BTreeSet<WorkerId>>,
    of: BTreeMap<WorkerId, MakeId>,
    can: BTreeMap<ClassId, BTreeSet<MakeId>>,
    last: u32,
}

impl Makes {
    /// A worker has come; `class` says what those classes are that are known already.
    pub(crate) fn join<'a>(&mut self, id: WorkerId, worker: &Worker, class: impl Fn(ClassId) -> &'a Class) {
        let make = Make {
            idle: Pools::new(&worker.config.resources).signature(),
            kinds: worker.config.kinds.clone(),
            min_utilization: worker.config.min_utilization,
        };
        let last = &mut self.last;
        let make = *self.ids.entry(make).or_insert_with(|| {
            *last = last.wrapping_add(1);
            MakeId(*last)
        });
        self.of.insert(id, make);
        let workers = self.workers.entry(make).or_default();
        workers.insert(id);
        if workers.len() == 1 {
            for (known, makes) in &mut self.can {
                if could_ever(class(*known), worker) {
                    makes.insert(make);
                }
            }
        }
    }

    /// A worker is gone.
    pub(crate) fn leave(&mut self, id: WorkerId) {
        let Some(make) = self.of.remove(&id) else { return };
        let Some(workers) = self.workers.get_mut(&make) else { return };
        workers.remove(&id);
        if workers.is_empty() {
            self.workers.remove(&make);
            self.ids.retain(|_, known| *known != make);
            self.can.values_mut().for_each(|makes| {
                makes.remove(&make);
            });
        }
    }

    /// Classes that are known, in order.
    pub(crate) fn classes(&self) -> impl ExactSizeIterator<Item = ClassId> + '_ {
        self.can.keys().copied()
    }

    /// Nothing is known of a class any more.
    pub(crate) fn forget(&mut self, class: ClassId) {
        self.can.remove(&class);
    }

    /// Makes sure that it is known which makes could ever run a class.
    pub(crate) fn learn<'a>(&mut self, id: ClassId, class: &Class, worker: impl Fn(WorkerId) -> Option<&'a Worker>) {
        if self.can.contains_key(&id) {
            return;
        }
        let could = |workers: &BTreeSet<WorkerId>| {
            workers.first().and_then(|first| worker(*first)).is_some_and(|worker| could_ever(class, worker))
        };
        let makes = self.workers.iter().filter(|(_, workers)| could(workers)).map(|(make, _)| *make);
        self.can.insert(id, makes.collect());
    }

    pub(crate) fn of(&self, worker: WorkerId) -> Option<MakeId> {
        self.of.get(&worker).copied()
    }

    /// Whether a worker could run a class when it is idle, time left aside; `false` for a class that was not learned.
    pub(crate) fn can(&self, worker: WorkerId, class: ClassId) -> bool {
        self.of(worker).is_some_and(|make| self.can.get(&class).is_some_and(|makes| makes.contains(&make)))
    }

    /// Workers that could run a class when they are idle, make by make.
    pub(crate) fn capable(&self, class: ClassId) -> impl Iterator<Item = WorkerId> + '_ {
        let makes = self.can.get(&class).into_iter().flatten();
        makes.filter_map(|make| self.workers.get(make)).flatten().copied()
    }

    /// The same in order.
    pub(crate) fn capable_in_order(&self, class: ClassId) -> Vec<WorkerId> {
        let mut workers: Vec<WorkerId> = self.capable(class).collect();
        workers.sort_unstable();
        workers
    }

    /// The same, the newest first.
    pub(crate) fn capable_from_last(&self, class: ClassId) -> impl Iterator<Item = WorkerId> + '_ {
        let makes = self.can.get(&class).into_iter().flatten();
        let mut lists: Vec<_> =
            makes.filter_map(|make| self.workers.get(make)).map(|workers| workers.iter().rev().peekable()).collect();
        let mut heads: BTreeSet<(WorkerId, usize)> =
            lists.iter_mut().enumerate().filter_map(|(at, list)| Some((**list.peek()?, at))).collect();
        std::iter::from_fn(move || {
            let (worker, at) = heads.pop_last()?;
            lists[at].next();
            heads.extend(lists[at].peek().map(|next| (**next, at)));
            Some(worker)
        })
    }

    /// How many they are.
    pub(crate) fn count(&self, class: ClassId) -> u64 {
        let makes = self.can.get(&class).into_iter().flatten();
        makes.filter_map(|make| self.workers.get(make)).map(|workers| workers.len() as u64).sum()
    }
}

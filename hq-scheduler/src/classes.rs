//! What is known of classes beside the lasting state does not outgrow what there is.

use std::collections::{BTreeMap, BTreeSet};

use hq_core::{ClassId, WorkerId};

use crate::{
    Scheduler,
    state::{Class, QueueKey},
};

/// So many classes of which nothing waits or runs are remembered, besides as many as there are others: they often come again.
const IDLE_MAX: usize = 256;

impl Scheduler {
    /// These classes are gone, and others may get their numbers.
    pub(crate) fn forget_classes(&mut self, gone: BTreeMap<ClassId, Class>) {
        let is_gone = |key: &QueueKey| gone.contains_key(&key.class);
        let held: Vec<QueueKey> = self.mind.held.keys().filter(|key| is_gone(key)).copied().collect();
        for key in held {
            if let Some(held) = self.mind.held.remove(&key) {
                let workers: Vec<WorkerId> = self.workers_held(key, &held).collect();
                self.mind.dirty_workers.extend(workers);
            }
        }
        self.mind.settled.retain(|key, _| !is_gone(key));
        self.mind.dirty_queues.retain(|key| !is_gone(key));
        // A class that gets one of the numbers is another one, for those as well who have looked at it in this moment.
        self.mind.ranks.stir();
        for (id, class) in gone {
            self.unlearn(id);
            self.mind.popular.forget(id, class);
        }
    }

    /// Drops what is known of classes of which nothing waits or runs, where these are many.
    pub(crate) fn forget_idle_classes(&mut self) {
        if self.mind.makes.classes().len() <= 2 * self.mind.busy_classes + IDLE_MAX {
            return;
        }
        let run = self.mind.lanes_of_class.iter().filter(|(_, lanes)| **lanes > 0).map(|(class, _)| *class);
        let waits = self.state.ready.keys().chain(self.mind.held.keys()).map(|key| key.class);
        let busy: BTreeSet<ClassId> = waits.chain(run).collect();
        self.mind.busy_classes = busy.len();
        let idle: Vec<ClassId> = self.mind.makes.classes().filter(|class| !busy.contains(class)).collect();
        idle.into_iter().for_each(|class| self.unlearn(class));
    }

    /// Drops what can be found out again.
    fn unlearn(&mut self, class: ClassId) {
        self.mind.lanes_of_class.remove(&class);
        self.mind.runs.remove(&class);
        self.mind.known_places.forget(class);
        self.mind.rooms.forget(class);
        self.mind.makes.forget(class);
    }
}

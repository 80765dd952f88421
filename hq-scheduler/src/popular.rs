//! Which classes most tasks belong to: counts that fade as others come.

use std::collections::BTreeMap;

use hq_core::{ClassId, Ordinal};

use crate::{Scheduler, policy::Typical};

/// Counts are halved whenever more tasks are in them.
const WINDOW: u64 = 1 << 14;

/// Tasks per class.
#[derive(Debug, Default)]
pub(crate) struct Popular {
    counts: BTreeMap<ClassId, u64>,
    total: u64,
    /// Counted since the typical ones were last looked up.
    fresh: u64,
    /// What there was of each resource then.
    totals: BTreeMap<String, u64>,
}

impl Popular {
    fn note(&mut self, class: ClassId, tasks: u64) {
        let count = self.counts.entry(class).or_insert(0);
        *count = count.saturating_add(tasks);
        self.total = self.total.saturating_add(tasks);
        self.fresh = self.fresh.saturating_add(tasks);
        while self.total > WINDOW {
            self.counts.retain(|_, count| {
                *count /= 2;
                *count > 0
            });
            self.total = self.counts.values().sum();
        }
    }

    /// Whether a good part of the counts is new.
    fn has_changed(&self) -> bool {
        self.fresh > self.total / 4
    }

    /// Whether there is another resource than there was, or a good part more or less of one.
    fn has_other_totals(&self, totals: &BTreeMap<String, u64>) -> bool {
        let known = |name: &String| self.totals.get(name).copied().unwrap_or(0);
        let moved = |(name, now): (&String, &u64)| now.abs_diff(known(name)) > known(name) / 4;
        totals.iter().any(moved)
    }
}

impl Scheduler {
    /// Counts the tasks of a new submit.
    pub(crate) fn note_popularity(&mut self, base: Ordinal) {
        let Some(submit) = self.state.submits.get(&base) else { return };
        if submit.submit.profile_of.is_empty() {
            let (class, tasks) = (submit.key(0).class, submit.len());
            return self.mind.popular.note(class, tasks);
        }
        let mut counts: BTreeMap<ClassId, u64> = BTreeMap::new();
        for profile in &submit.submit.profile_of {
            if let Some(class) = submit.keys.get(usize::from(*profile)).map(|key| &key.class) {
                *counts.entry(*class).or_default() += 1;
            }
        }
        counts.into_iter().for_each(|(class, tasks)| self.mind.popular.note(class, tasks));
    }

    /// After a restart: what waits is all that is known.
    pub(crate) fn note_popularity_of_waiting(&mut self) {
        for (key, tasks) in &self.state.ready {
            self.mind.popular.note(key.class, tasks.len());
        }
    }

    /// Looks up the typical classes anew where others have become popular, among those seen lately and those that wait, or where
    /// the cluster has become another. Says whether it did.
    pub(crate) fn renew_typical(&mut self) -> bool {
        if !self.mind.popular.has_changed() && !self.mind.popular.has_other_totals(&self.mind.totals) {
            return false;
        }
        self.mind.popular.fresh = 0;
        self.mind.popular.totals.clone_from(&self.mind.totals);
        let mut counts = self.mind.popular.counts.clone();
        let mut waiting: BTreeMap<ClassId, u64> = BTreeMap::new();
        for (key, tasks) in &self.state.ready {
            *waiting.entry(key.class).or_default() += tasks.len();
        }
        for (class, tasks) in waiting {
            let count = counts.entry(class).or_default();
            *count = tasks.min(WINDOW).max(*count);
        }
        let classes =
            counts.iter().map(|(class, count)| (self.state.classes.get(*class).requests.iter().map(|r| &**r), *count));
        self.mind.typical = Typical::new(classes, self.state.workers.values().map(|worker| &worker.config.resources));
        true
    }
}

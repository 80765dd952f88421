//! Which classes most tasks belong to: counts that fade as others come.

use std::{collections::BTreeMap, sync::Arc};

use hq_core::{ClassId, Ordinal, Request};

use crate::{Scheduler, policy::Typical, state::Class};

/// Counts are halved whenever more tasks are in them.
const WINDOW: u64 = 1 << 14;
/// … and whenever so many classes are.
const CLASSES_MAX: usize = 1 << 12;

/// Tasks per class.
#[derive(Debug, Default)]
pub(crate) struct Popular {
    counts: BTreeMap<ClassId, u64>,
    /// Of classes that are forgotten, by what one of their tasks asks for.
    former: BTreeMap<Vec<Arc<Request>>, u64>,
    total: u64,
    /// Counted since the typical ones were last looked up.
    fresh: u64,
    /// What there was of each resource then.
    totals: BTreeMap<String, u64>,
}

impl Popular {
    fn note(&mut self, class: ClassId, known: &Class, tasks: u64) {
        let former = &mut self.former;
        let count = self.counts.entry(class).or_insert_with(|| former.remove(&known.requests).unwrap_or(0));
        *count = count.saturating_add(tasks);
        self.total = self.total.saturating_add(tasks);
        self.fresh = self.fresh.saturating_add(tasks);
        while self.total > WINDOW || self.counts.len() + self.former.len() > CLASSES_MAX {
            self.counts.retain(|_, count| is_left_of(count));
            self.former.retain(|_, count| is_left_of(count));
            self.total = self.counts.values().chain(self.former.values()).sum();
        }
    }

    /// A class is forgotten, but not that it was popular.
    pub(crate) fn forget(&mut self, class: ClassId, gone: Class) {
        if let Some(count) = self.counts.remove(&class) {
            *self.former.entry(gone.requests).or_insert(0) += count;
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

/// Halves a count; says whether something is left of it.
const fn is_left_of(count: &mut u64) -> bool {
    *count /= 2;
    *count > 0
}

impl Scheduler {
    /// Counts the tasks of a new submit.
    pub(crate) fn note_popularity(&mut self, base: Ordinal) {
        let Some(submit) = self.state.submits.get(&base) else { return };
        if submit.submit.profile_of.is_empty() {
            let (class, tasks) = (submit.key(0).class, submit.len());
            return self.mind.popular.note(class, self.state.classes.get(class), tasks);
        }
        let mut counts: BTreeMap<ClassId, u64> = BTreeMap::new();
        for profile in &submit.submit.profile_of {
            if let Some(class) = submit.keys.get(usize::from(*profile)).map(|key| &key.class) {
                *counts.entry(*class).or_default() += 1;
            }
        }
        for (class, tasks) in counts {
            self.mind.popular.note(class, self.state.classes.get(class), tasks);
        }
    }

    /// After a restart: what waits is all that is known.
    pub(crate) fn note_popularity_of_waiting(&mut self) {
        for (key, tasks) in &self.state.ready {
            self.mind.popular.note(key.class, self.state.classes.get(key.class), tasks.len());
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
        let known = counts.iter().map(|(class, count)| (&self.state.classes.get(*class).requests, *count));
        let former = self.mind.popular.former.iter().map(|(requests, count)| (requests, *count));
        let classes = known.chain(former).map(|(requests, count)| (requests.iter().map(|request| &**request), count));
        self.mind.typical = Typical::new(classes, self.state.workers.values().map(|worker| &worker.config.resources));
        true
    }
}

#[cfg(test)]
mod tests {
    use hq_core::{JobSpec, JobTarget, Profile, Submit, TaskIds, Tick};

    use super::*;

    #[test]
    fn what_was_popular_stays_so_when_its_jobs_are_forgotten() {
        let now = Tick(1);
        let mut core = Scheduler::new();
        core.boot(now, "uid".into(), 0, "1".into());
        let submit = |core: &mut Scheduler, cpus| {
            let profile = Profile::new(Request::cpus(cpus).unwrap());
            let target = JobTarget::New(JobSpec::default());
            core.submit(now, Submit::array(target, TaskIds::Next(5), "program", vec![].into(), profile)).unwrap()
        };
        let job = submit(&mut core, 1);
        core.cancel(now, job, None);
        assert!(core.forget(now, job));
        submit(&mut core, 2);
        let counts = |core: &Scheduler| {
            let popular = &core.mind.popular;
            let known: Vec<u64> = popular.counts.values().copied().collect();
            (known, popular.former.values().copied().collect::<Vec<u64>>())
        };
        assert_eq!(counts(&core), (vec![5], vec![5]), "the number of the class is another's");
        assert!(core.renew_typical());
        assert_eq!(core.mind.typical.classes().count(), 2);
        submit(&mut core, 1);
        assert_eq!(counts(&core), (vec![5, 10], vec![]), "it goes on");
    }
}

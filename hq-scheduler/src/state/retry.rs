//! Tasks that did not end well and go on: how often, since when not before when, and why. Nothing is kept of others.

use std::collections::{BTreeMap, BTreeSet};

use hq_core::{Ordinal, OrdinalRange, RangeSet, RetryMark, Tick};

use super::{Effects, Entry, State};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Retries {
    tasks: BTreeMap<Ordinal, RetryMark>,
    /// Those that wait for a moment, by it.
    due: BTreeSet<(Tick, Ordinal)>,
}

impl Retries {
    pub(crate) fn get(&self, task: Ordinal) -> Option<&RetryMark> {
        self.tasks.get(&task)
    }

    /// How often a rule was used for a task.
    pub(crate) fn used(&self, task: Ordinal, rule: u8) -> u32 {
        let used = self.tasks.get(&task).into_iter().flat_map(|known| &known.used);
        used.filter(|(number, _)| *number == rule).map(|(_, n)| *n).sum()
    }

    /// The next moment for which a task waits.
    pub(crate) fn next(&self) -> Option<Tick> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Tasks that waited for `now` or a moment before.
    pub(crate) fn due(&self, now: Tick) -> RangeSet {
        self.due.iter().take_while(|(at, _)| *at <= now).map(|(_, task)| OrdinalRange::one(*task)).collect()
    }

    /// Those of `range` that wait for a moment, with it.
    pub(crate) fn delayed_in(&self, range: OrdinalRange) -> impl Iterator<Item = (Ordinal, Tick)> + '_ {
        let known = self.tasks.range(range.start..range.end());
        known.filter_map(|(task, known)| Some((*task, known.until?)))
    }

    fn is_delayed(&self, task: Ordinal) -> bool {
        self.tasks.get(&task).is_some_and(|known| known.until.is_some())
    }

    fn note(&mut self, task: Ordinal, rule: u8, until: Option<Tick>, error: String) {
        let known = self.tasks.entry(task).or_default();
        match known.used.iter_mut().find(|(number, _)| *number == rule) {
            Some((_, n)) => *n = n.saturating_add(1),
            None => known.used.push((rule, 1)),
        }
        known.error = error;
        self.delay(task, until);
    }

    fn delay(&mut self, task: Ordinal, until: Option<Tick>) {
        let Some(known) = self.tasks.get_mut(&task) else { return };
        if let Some(before) = std::mem::replace(&mut known.until, until) {
            self.due.remove(&(before, task));
        }
        self.due.extend(until.map(|until| (until, task)));
    }

    /// All that a snapshot says of a task; the workers that it lost are not of here.
    pub(super) fn restore(&mut self, task: Ordinal, mark: &RetryMark) {
        let known = RetryMark { until: None, lost: vec![], ..mark.clone() };
        if mark.until.is_some() || known != RetryMark::default() {
            self.tasks.insert(task, known);
            self.delay(task, mark.until);
        }
    }

    pub(super) fn marks_in(&self, range: OrdinalRange) -> impl Iterator<Item = Ordinal> + '_ {
        self.tasks.range(range.start..range.end()).map(|(task, _)| *task)
    }

    /// Tasks of `range` have ended, or are not known any more.
    pub(super) fn forget(&mut self, range: OrdinalRange) {
        if self.tasks.is_empty() {
            return; // Nearly always.
        }
        let known: Vec<Ordinal> = self.marks_in(range).collect();
        for task in known {
            self.delay(task, None);
            self.tasks.remove(&task);
        }
    }
}

impl State {
    /// A run did not end well; its task is run again, not before `until`.
    #[expect(clippy::too_many_arguments, reason = "what the fact says")]
    pub(super) fn retry(
        &mut self,
        at: Tick,
        grant: Option<super::GrantId>,
        task: Ordinal,
        start: Option<Tick>,
        rule: u8,
        until: Tick,
        error: &str,
        fx: &mut Effects,
    ) -> Result<(), String> {
        let lane = match grant {
            Some(id) => {
                let lane = self.grants.get(&id).ok_or_else(|| format!("grant {id} does not exist"))?;
                let lane = (lane.worker, lane.variant);
                self.leave_lane(id, task)?;
                Some(lane)
            }
            None => None,
        };
        let Some((base, submit)) = self.submit_of(task) else { return Ok(()) };
        let before = self.state_in(submit, task);
        if before.is_end() {
            return Ok(());
        }
        let is_ready = match lane {
            Some((worker, variant)) => {
                let start = start.unwrap_or(at);
                let state = hq_core::TaskState::Waiting;
                self.records.set(task, Entry { state, variant, worker, start, took: at.since(start) });
                self.records.next_instance(task);
                self.count(base, before, state, 1);
                if let Some(worker) = self.workers.get_mut(&worker) {
                    worker.last_task = Some((task, start));
                }
                true
            }
            // In a repaired journal what it waits for may have lost its end.
            None => self.remove_ready(base, OrdinalRange::one(task), fx) == 1,
        };
        let delay = Some(until).filter(|until| is_ready && *until > at);
        self.records.retries.note(task, rule, delay, error.to_owned());
        if is_ready && delay.is_none() {
            self.insert_ready(OrdinalRange::one(task), fx);
        }
        Ok(())
    }

    /// The delay of tasks is over. Those wait for room that wait for nothing else: in a repaired journal what they depend on
    /// may have lost its end, and is run again before them.
    pub(super) fn end_delays(&mut self, tasks: &[OrdinalRange], fx: &mut Effects) {
        for range in tasks {
            let delayed: Vec<Ordinal> = self.records.retries.delayed_in(*range).map(|(task, _)| task).collect();
            for task in delayed {
                self.records.retries.delay(task, None);
                if self.has_all_it_waits_for(task) {
                    self.insert_ready(OrdinalRange::one(task), fx);
                }
            }
        }
    }

    /// Whether no dependency on another task holds it back.
    fn has_all_it_waits_for(&self, task: Ordinal) -> bool {
        let Some((base, submit)) = self.submit_of(task) else { return false };
        submit.graph.as_ref().is_none_or(|graph| graph.is_ready(task.0 - base.0))
    }

    /// What of `range` does not wait for a moment.
    pub(super) fn without_delayed(&self, range: OrdinalRange) -> Vec<OrdinalRange> {
        let mut rest = RangeSet::from_iter([range]);
        for (task, _) in self.records.retries.delayed_in(range) {
            rest.remove(OrdinalRange::one(task));
        }
        rest.iter().collect()
    }

    /// Tasks that a snapshot has told of are not to be run before a moment.
    pub(super) fn hold_back(&mut self, task: Ordinal, fx: &mut Effects) {
        if self.records.retries.is_delayed(task)
            && let Some((base, _)) = self.submit_of(task)
        {
            self.remove_ready(base, OrdinalRange::one(task), fx);
        }
    }
}

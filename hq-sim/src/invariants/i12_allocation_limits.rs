use std::collections::{BTreeMap, BTreeSet};

use hq_core::{Fact, QueueSpec};
use hq_scheduler::autoscale::{ScaleAction, ScaleOrder};

/// I12: what a queue has asked for and has not ended is never more workers than its limit, nor more allocations that have not
/// begun than its backlog, in whatever order a backend answers; no key is used twice; and an allocation that comes back after
/// its end is ended again, or counts again.
#[derive(Debug)]
pub struct AllocationLimits {
    spec: QueueSpec,
    /// Allocations that have not ended: their workers, and whether they have begun.
    open: BTreeMap<String, (u32, bool)>,
    /// Those that have ended.
    ended: BTreeMap<String, u32>,
    /// What the backend gave to whom.
    ids: BTreeMap<String, String>,
    keys: BTreeSet<String>,
    submitted: BTreeSet<String>,
    /// What has come back and must be ended.
    returned: Vec<String>,
    is_asked: bool,
}

impl AllocationLimits {
    /// Of a queue that asks for nothing yet.
    pub const fn new(spec: QueueSpec) -> Self {
        Self {
            spec,
            open: BTreeMap::new(),
            ended: BTreeMap::new(),
            ids: BTreeMap::new(),
            keys: BTreeSet::new(),
            submitted: BTreeSet::new(),
            returned: vec![],
            is_asked: false,
        }
    }

    /// The backend is about to say that it has this.
    pub fn hears_queued(&mut self, key: &str, id: &str) {
        if !self.open.contains_key(key) {
            self.returned.push(id.to_owned());
        }
    }

    /// A worker of this allocation is about to come.
    pub fn hears_worker(&mut self, id: &str) {
        if self.ids.get(id).is_some_and(|key| self.ended.contains_key(key)) {
            self.returned.push(id.to_owned());
        }
    }

    /// Looks at one thing that the queue wants done.
    ///
    /// # Errors
    /// One line: which limit is broken.
    pub fn act(&mut self, action: &ScaleAction) -> Result<(), String> {
        match action {
            ScaleAction::Record(fact) => self.note(fact)?,
            ScaleAction::Order(ScaleOrder::Submit { key, workers, .. }) => {
                if self.open.get(key).is_none_or(|(known, _)| known != workers) || !self.submitted.insert(key.clone()) {
                    return Err(format!("I12 limits: {key} is asked for without an intent, or twice"));
                }
                self.is_asked = true;
            }
            ScaleAction::Order(ScaleOrder::Cancel { allocation, .. }) => {
                self.returned.retain(|returned| *returned != allocation.id);
            }
            ScaleAction::Order(_) | ScaleAction::Warn(_) => {}
        }
        self.check()
    }

    fn note(&mut self, fact: &Fact) -> Result<(), String> {
        match fact {
            Fact::AllocationIntended { key, workers, .. } => {
                if !self.keys.insert(key.clone()) {
                    return Err(format!("I12 limits: key {key} is used twice"));
                }
                if !(1..=self.spec.workers_per_allocation).contains(workers) {
                    return Err(format!("I12 limits: an allocation of {workers} workers"));
                }
                self.open.insert(key.clone(), (*workers, false));
            }
            Fact::AllocationQueued { key, id, .. } => {
                let taken = self.ids.insert(id.clone(), key.clone());
                if taken.as_ref().is_some_and(|other| other != key && self.open.contains_key(other)) {
                    return Err(format!("I12 limits: {taken:?} and {key} are both {id}"));
                }
            }
            Fact::AllocationStarted { key, .. } => {
                // What was given up may come back, and counts again.
                let back = self.ended.remove(key).map(|workers| (workers, true));
                let id = self.ids.iter().find(|(_, known)| *known == key).map(|(id, _)| id.clone());
                if back.is_some() {
                    self.returned.retain(|returned| Some(returned) != id.as_ref());
                    self.open.extend(back.map(|open| (key.clone(), open)));
                }
                let (_, begun) =
                    self.open.get_mut(key).ok_or(format!("I12 limits: {key} begins and was never asked for"))?;
                *begun = true;
            }
            Fact::AllocationEnded { key, .. } => {
                let (workers, _) = self.open.remove(key).ok_or(format!("I12 limits: {key} ends twice"))?;
                self.ended.insert(key.clone(), workers);
            }
            _ => {}
        }
        Ok(())
    }

    /// A step is over: all its actions were seen.
    ///
    /// # Errors
    /// When something that has come back goes on.
    pub fn settled(&mut self) -> Result<(), String> {
        match self.returned.pop() {
            Some(id) => Err(format!("I12 limits: allocation {id} came back after its end and goes on")),
            None => Ok(()),
        }
    }

    /// Whether anything was ever asked for: a queue that never asks keeps all limits.
    pub const fn has_asked(&self) -> bool {
        self.is_asked
    }

    fn check(&self) -> Result<(), String> {
        let workers: u64 = self.open.values().map(|(workers, _)| u64::from(*workers)).sum();
        let waiting = self.open.values().filter(|(_, begun)| !begun).count() as u64;
        match self.spec.max_workers {
            Some(max) if workers > u64::from(max) => Err(format!("I12 limits: {workers} workers where {max} may be")),
            _ if waiting > u64::from(self.spec.backlog) => {
                Err(format!("I12 limits: {waiting} allocations wait where {} may", self.spec.backlog))
            }
            _ => Ok(()),
        }
    }
}

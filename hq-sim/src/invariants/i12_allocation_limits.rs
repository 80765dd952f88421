use std::collections::{BTreeMap, BTreeSet};

use hq_core::{Fact, QueueSpec};
use hq_scheduler::autoscale::ScaleAction;

/// I12: what a queue has asked for and has not ended is never more workers than its limit, nor more allocations that have not
/// begun than its backlog, in whatever order a backend answers; no key is used twice; and an allocation that comes back after
/// its end is ended again.
#[derive(Debug)]
pub struct AllocationLimits {
    spec: QueueSpec,
    /// Allocations that have not ended: their workers, and whether they have begun.
    open: BTreeMap<String, (u32, bool)>,
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

    /// Looks at one thing that the queue wants done.
    ///
    /// # Errors
    /// One line: which limit is broken.
    pub fn act(&mut self, action: &ScaleAction) -> Result<(), String> {
        match action {
            ScaleAction::Record(Fact::AllocationIntended { key, workers, .. }) => {
                if !self.keys.insert(key.clone()) {
                    return Err(format!("I12 limits: key {key} is used twice"));
                }
                if !(1..=self.spec.workers_per_allocation).contains(workers) {
                    return Err(format!("I12 limits: an allocation of {workers} workers"));
                }
                self.open.insert(key.clone(), (*workers, false));
            }
            ScaleAction::Record(Fact::AllocationStarted { key, .. }) => {
                let (_, begun) = self.open.get_mut(key).ok_or(format!("I12 limits: {key} begins after its end"))?;
                *begun = true;
            }
            ScaleAction::Record(Fact::AllocationEnded { key, .. }) => _ = self.open.remove(key),
            ScaleAction::Submit { key, workers } => {
                if self.open.get(key).is_none_or(|(known, _)| known != workers) || !self.submitted.insert(key.clone()) {
                    return Err(format!("I12 limits: {key} is asked for without an intent, or twice"));
                }
            }
            ScaleAction::Cancel { id } => self.returned.retain(|returned| returned != id),
            ScaleAction::Record(_) | ScaleAction::Find { .. } => {}
        }
        self.is_asked |= matches!(action, ScaleAction::Submit { .. });
        self.check()
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

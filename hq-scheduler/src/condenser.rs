use std::collections::BTreeMap;

use hq_core::{Fact, JobId, Record, Tick, WorkerId};

use crate::{
    Scheduler,
    state::{Effects, State},
};

/// Boils a past down: takes the records of a journal from its first one on, and gives fewer that come to the same.
///
/// Works on facts alone, beside a running core. What is left follows what there is (jobs that were not forgotten, their
/// tasks, workers, lanes), not how much has happened. Boots, stops and all about allocations stay.
#[derive(Debug, Default)]
pub struct Condenser {
    state: State,
    server: Vec<Record>,
    /// How workers that may come back are known then: the last of each.
    sessions: BTreeMap<WorkerId, Record>,
    last: Tick,
}

impl Condenser {
    /// Of nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next record.
    ///
    /// # Errors
    /// One line, where it contradicts those before.
    pub fn take(&mut self, record: &Record) -> Result<(), String> {
        self.state.apply(record, &mut Effects::default())?;
        self.last = self.last.max(record.at);
        let is_kept = matches!(record.fact, Fact::Boot { .. } | Fact::ServerStopped | Fact::RecordsLost { .. });
        if is_kept || record.fact.is_about_allocations() {
            self.server.push(record.clone());
        }
        match &record.fact {
            Fact::SessionGiven { worker, .. } => _ = self.sessions.insert(*worker, record.clone()),
            Fact::WorkerLost { worker, .. } | Fact::WorkerJoined { worker, .. } => _ = self.sessions.remove(worker),
            _ => {}
        }
        Ok(())
    }

    /// Leaves out what is over: completed jobs, and workers that are gone. A core that goes on from this does not know them.
    pub fn drop_past(&mut self) {
        let over = self.state.jobs.iter().filter(|(_, job)| job.is_completed()).map(|(id, _)| *id);
        let over: Vec<JobId> = over.collect();
        over.into_iter().for_each(|job| self.state.forget(job, &mut Effects::default()));
        self.state.lost.clear();
    }

    /// The records that stand for all that were taken. They belong together: half of them is nothing.
    pub fn records(&self) -> Vec<Record> {
        self.state.summary(&self.server, &self.sessions, self.last)
    }

    /// Whether a core is in the state that the records taken come to.
    pub fn agrees_with(&self, core: &Scheduler) -> bool {
        self.state == core.state
    }
}

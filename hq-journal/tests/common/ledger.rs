//! A small meaning of records, so that what a journal comes to can be told: which jobs are closed and not forgotten.

use std::collections::BTreeSet;

use hq_core::{Fact, JobId, Record, Seq, Tick};
use hq_journal::{Condense, Keep};

/// Closed jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    pub closed: BTreeSet<u32>,
}

impl Ledger {
    pub fn of(records: &[Record]) -> Self {
        let mut ledger = Self::default();
        records.iter().for_each(|record| ledger.apply(record));
        ledger
    }

    fn apply(&mut self, record: &Record) {
        match &record.fact {
            Fact::JobClosed { job } => _ = self.closed.insert(job.0),
            Fact::JobForgotten { job } => _ = self.closed.remove(&job.0),
            _ => {}
        }
    }
}

impl Condense for Ledger {
    fn take(&mut self, _: Seq, record: Record) -> Result<(), String> {
        self.apply(&record);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Vec<Record> {
        let closed = self.closed.iter().map(|job| Fact::JobClosed { job: JobId(*job) });
        let facts = closed.chain([Fact::FlushWanted]);
        facts.map(|fact| Record { at: Tick(1), fact }).collect()
    }
}

pub fn condenser(_: Keep) -> Box<dyn Condense> {
    Box::new(Ledger::default())
}

/// Record number `n` of a life in which few jobs are there at a time.
pub fn record(n: u64) -> Record {
    let job = JobId((n / 2) as u32);
    let fact = if n.is_multiple_of(2) {
        Fact::JobClosed { job }
    } else {
        Fact::JobForgotten { job: JobId(job.0.saturating_sub(3)) }
    };
    Record { at: Tick(n * 1000), fact }
}

/// Records 1 to `n`.
pub fn life(n: u64) -> Vec<Record> {
    (1..=n).map(record).collect()
}

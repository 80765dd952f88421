//! What the records of a journal mean to the journal itself: how they are boiled down, and what is sound after a loss.

use std::{path::Path, sync::Arc};

use hq_core::{Fact, Record, Seq, Tick};
use hq_journal::{
    Condense, CondenseError, Condensed, FileJournal, FileOptions, Journal as _, Keep, OpenError, RepairError, Repaired,
    Salvage, repair,
};
use hq_scheduler::{Condenser, Salvager};

/// For [`FileOptions::condenser`].
pub(crate) fn condenser(keep: Keep) -> Box<dyn Condense> {
    Box::new(Condensing { core: Condenser::new(), keep })
}

struct Condensing {
    core: Condenser,
    keep: Keep,
}

impl Condense for Condensing {
    fn take(&mut self, seq: Seq, record: Record) -> Result<(), String> {
        self.core.take(&record).map_err(|reason| format!("record {seq}: {reason}"))
    }

    fn finish(mut self: Box<Self>) -> Vec<Record> {
        if self.keep == Keep::Unfinished {
            self.core.drop_past();
        }
        self.core.records()
    }
}

/// Why a journal was not pruned. It is as it was.
#[derive(Debug, thiserror::Error)]
pub enum PruneError {
    /// It cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It can be used, and is as large as before.
    #[error(transparent)]
    Condense(#[from] CondenseError),
}

/// Leaves out of a journal that no server uses what is over: completed jobs and workers that are gone.
///
/// # Errors
/// Where it is in use, damaged or no journal; it is as it was then.
pub fn prune_journal(path: &Path) -> Result<Condensed, PruneError> {
    let options = FileOptions { condenser: Some(condenser), ..FileOptions::default() };
    let (mut journal, _) = FileJournal::open(path, options, Arc::new(|_| {}))?;
    let (sender, done) = std::sync::mpsc::channel();
    journal.condense(Keep::Unfinished, Box::new(move |result| drop(sender.send(result))));
    Ok(done.recv().unwrap_or(Err(CondenseError::Ending))?)
}

/// Saves what can be saved of a damaged journal; see [`hq_journal::repair`].
///
/// # Errors
/// Nothing is changed then.
pub fn repair_journal(path: &Path, skip_hole: bool) -> Result<Repaired, RepairError> {
    repair(path, skip_hole, &mut Salvaging(Salvager::new()))
}

struct Salvaging(Salvager);

impl Salvage for Salvaging {
    fn lost(&mut self, _: Seq, count: u64) -> Record {
        let lost = self.0.lose(count);
        lost.unwrap_or(Record { at: Tick(0), fact: Fact::RecordsLost { count } })
    }

    fn take(&mut self, seq: Seq, record: Record) -> Result<Option<Record>, String> {
        self.0.take(record).map_err(|reason| format!("record {seq}: {reason}"))
    }
}

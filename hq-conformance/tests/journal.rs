//! Our journals held against the suite.

use hq_conformance::journal::{JournalBuilder, test_all};
use hq_journal::{FileJournal, FileOptions, Journal, MemoryJournal, MemoryStore, OnDurable};
use tempfile::TempDir;

struct InFile(TempDir);

impl JournalBuilder for InFile {
    fn open(&mut self, on_durable: OnDurable) -> Result<Box<dyn Journal>, String> {
        let opened = FileJournal::open(self.0.path().join("journal"), FileOptions::default(), on_durable);
        opened.map(|(journal, _)| Box::new(journal) as Box<dyn Journal>).map_err(|error| error.to_string())
    }
}

struct InMemory(MemoryStore);

impl JournalBuilder for InMemory {
    fn open(&mut self, on_durable: OnDurable) -> Result<Box<dyn Journal>, String> {
        Ok(Box::new(MemoryJournal::open(&self.0, on_durable)))
    }
}

#[test]
fn file() {
    test_all(|| InFile(tempfile::tempdir().unwrap()));
}

#[test]
fn memory() {
    test_all(|| InMemory(MemoryStore::default()));
}

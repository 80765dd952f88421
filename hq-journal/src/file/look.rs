//! Reads a journal that may be in use.

use std::path::Path;

use hq_core::{Record, Seq};

use super::{
    read::FileRecords,
    scan::{Subject, scan},
    segment::{Layout, Segment, find_sealed, refusal, subject},
};
use crate::{
    OpenError, ReadError, Records,
    storage::{Files, How, Storage},
};

/// The records of a journal, in order, as far as they are whole when this is called. Takes no lock and changes
/// nothing: a server may work on it. What a crash left at the end, or what is being written, is passed over.
///
/// The first error is the last item.
///
/// # Errors
/// Where it is no journal that this program can read. An empty file is one without records.
pub fn read_file(path: &Path) -> Result<Records, OpenError> {
    // A server may put another file in the place of one that was just found: then all is looked for again.
    for _ in 0..100 {
        match look(&Files, path) {
            Err(OpenError::Missing { .. } | OpenError::NotAJournal { .. } | OpenError::Cut { .. })
                if has_changed(path) => {}
            result => return result,
        }
    }
    look(&Files, path)
}

/// Whether another file has that name by now, compared with a moment later.
fn has_changed(path: &Path) -> bool {
    let before = Files.identity(path).ok();
    std::thread::yield_now();
    before.is_none() || before != Files.identity(path).ok()
}

fn look(storage: &dyn Storage, path: &Path) -> Result<Records, OpenError> {
    let failed = |action| move |source| OpenError::Io { action, path: path.to_owned(), source };
    let file = storage.open(path, How::Read).map_err(failed("open"))?;
    let Some(subject) = subject(path, &file)? else { return Ok(Box::new(std::iter::empty())) };
    let sealed = find_sealed(storage, path, subject.header.first)?.sealed;
    let (header, len) = (subject.header, subject.len);
    let active = Segment { path: path.to_owned(), file, header, end: len, next: Seq(u64::MAX) };
    let records = FileRecords::new(Layout { sealed, active }, Seq(0));
    Ok(Box::new(Whole { records, subject, over: false }))
}

/// Records up to the torn tail.
struct Whole {
    records: FileRecords,
    subject: Subject,
    over: bool,
}

impl Iterator for Whole {
    type Item = Result<(Seq, Record), ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        match self.records.next() {
            Some(Err(ReadError::Damaged { path, offset })) => {
                self.over = true;
                // Rare, so that it is found out only now what it is.
                match scan(&self.subject) {
                    Ok(found) => {
                        refusal(&path, &found).map(|why| Err(ReadError::Hole { path, offset, why: Box::new(why) }))
                    }
                    Err(error) => Some(Err(error.into())),
                }
            }
            item => item,
        }
    }
}

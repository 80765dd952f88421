//! Reads a journal that may be in use.

use std::{
    io,
    path::{Path, PathBuf},
};

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
    // A server may put other files in the place of those that were just found: then all is looked for again.
    for _ in 0..ATTEMPTS {
        match look(&Files, path) {
            Err(OpenError::Missing { .. } | OpenError::NotAJournal { .. } | OpenError::Cut { .. }) => {}
            Err(OpenError::Io { path: name, source, .. })
                if source.kind() == io::ErrorKind::NotFound && name != path => {}
            result => return result,
        }
    }
    look(&Files, path)
}

/// More than a server can do to its files while one looks for them.
const ATTEMPTS: u32 = 3;

fn look(storage: &dyn Storage, path: &Path) -> Result<Records, OpenError> {
    let failed = |action| move |source| OpenError::Io { action, path: path.to_owned(), source };
    let file = storage.open(path, How::Read).map_err(failed("open"))?;
    let Some(subject) = subject(path, &file)? else { return Ok(Box::new(std::iter::empty())) };
    let sealed = find_sealed(storage, path, subject.header.first)?.sealed;
    let (header, len) = (subject.header, subject.len);
    let active = Segment { path: path.to_owned(), file, header, end: len, next: Seq(u64::MAX) };
    let records = FileRecords::new(Layout { sealed, active }, Seq(0));
    Ok(Box::new(Whole { records, path: path.to_owned(), subject, over: false }))
}

/// Records up to the torn tail.
struct Whole {
    records: FileRecords,
    path: PathBuf,
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
            Some(Err(ReadError::Damaged { path, offset })) if path == self.path => {
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

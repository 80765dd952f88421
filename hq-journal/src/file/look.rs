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

/// A journal as far as it is whole when it is opened. Takes no lock and changes nothing: a server may work on it. What a
/// crash left at the end, or what is being written, is passed over.
///
/// It can be read again and again, and is always the same: it holds on to its files, also where a server puts others in
/// their place.
#[derive(Clone, Debug)]
pub struct JournalView(Option<Found>);

#[derive(Clone, Debug)]
struct Found {
    layout: Layout,
    subject: Subject,
}

impl JournalView {
    /// Opens a journal.
    ///
    /// # Errors
    /// Where it is no journal that this program can read. An empty file is one without records.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
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

    /// Its records from number `from` on, in order. The first error is the last item.
    pub fn records(&self, from: Seq) -> Records {
        let Some(Found { layout, subject }) = self.0.clone() else { return Box::new(std::iter::empty()) };
        let path = layout.active.path.clone();
        Box::new(Whole { records: FileRecords::new(layout, from), path, subject, over: false })
    }
}

/// The records of a journal, from its first one on, as a [`JournalView`] that is opened now has them.
///
/// # Errors
/// As [`JournalView::open`].
pub fn read_file(path: &Path) -> Result<Records, OpenError> {
    Ok(JournalView::open(path)?.records(Seq(0)))
}

/// More than a server can do to its files while one looks for them.
const ATTEMPTS: u32 = 3;

fn look(storage: &dyn Storage, path: &Path) -> Result<JournalView, OpenError> {
    let failed = |action| move |source| OpenError::Io { action, path: path.to_owned(), source };
    let file = storage.open(path, How::Read).map_err(failed("open"))?;
    let Some(subject) = subject(path, &file)? else { return Ok(JournalView(None)) };
    let sealed = find_sealed(storage, path, subject.header.first)?.sealed;
    let (header, len) = (subject.header, subject.len);
    let active = Segment { path: path.to_owned(), file, header, end: len, next: Seq(u64::MAX) };
    Ok(JournalView(Some(Found { layout: Layout { sealed, active }, subject })))
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

//! The files of a journal: the active one, and sealed ones beside it, named by their first record.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use hq_core::{Epoch, Seq};

use super::{
    header::{self, Beginning, HEADER_LEN, Header, Notice},
    scan::{Flaw, Scan, Subject, scan},
};
use crate::{
    OpenError,
    storage::{How, Storage, StoredFile, read_up_to},
};

/// A file whose frames are known to be whole up to a place.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) path: PathBuf,
    pub(super) file: Arc<dyn StoredFile>,
    pub(super) header: Header,
    /// Where its last whole frame ends.
    pub(super) end: u64,
    /// The record after its last one; what follows in the file does not count.
    pub(super) next: Seq,
}

/// All files of a journal.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// In order; each goes on where the one before ends.
    pub(super) sealed: Vec<Segment>,
    pub(super) active: Segment,
}

impl Layout {
    /// The first record that is there, or the first to come.
    pub(super) fn first(&self) -> Seq {
        self.sealed.first().unwrap_or(&self.active).header.first
    }

    pub(super) fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.sealed.iter().chain([&self.active])
    }
}

/// A name beside that of the journal.
pub(super) fn beside(path: &Path, suffix: impl std::fmt::Display) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(format!(".{suffix}"));
    name.into()
}

/// Reads what a file says of itself.
pub(super) fn read_beginning(path: &Path, file: &dyn StoredFile) -> Result<(Beginning, Option<Notice>), OpenError> {
    let mut bytes = [0; HEADER_LEN];
    let read = read_up_to(file, &mut bytes, 0);
    let len = read.map_err(|source| OpenError::Io { action: "read", path: path.to_owned(), source })?;
    Ok((header::decode(&bytes[..len]), Notice::decode(&bytes[..len])))
}

/// A file as it is to be looked through; `None` where nothing is in it.
pub(super) fn subject(path: &Path, file: &Arc<dyn StoredFile>) -> Result<Option<Subject>, OpenError> {
    let path_buf = || path.to_owned();
    let (beginning, notice) = read_beginning(path, &**file)?;
    let header = match beginning {
        Beginning::Whole(header) => header,
        Beginning::Fresh => return Ok(None),
        Beginning::Future(found) => {
            return Err(OpenError::Future { path: path_buf(), found, known: header::VERSION });
        }
        Beginning::Damaged => return Err(OpenError::DamagedHeader { path: path_buf() }),
        Beginning::Foreign => return Err(OpenError::NotAJournal { path: path_buf() }),
    };
    let len = file.size().map_err(|source| OpenError::Io { action: "read", path: path_buf(), source })?;
    let safe = notice.map_or(0, |notice| notice.safe);
    Ok(Some(Subject { file: file.clone(), header, len, safe, limit: None }))
}

/// What is wrong with a file, where it is more than a torn end.
pub(super) fn refusal(path: &Path, scan: &Scan) -> Option<OpenError> {
    let (path, offset, next) = (path.to_owned(), scan.end, scan.next);
    match scan.flaw.clone()? {
        Flaw::TornTail => None,
        Flaw::Flip { bit } => Some(OpenError::Flip { path, offset: bit / 8, bit: (bit % 8) as u8, next }),
        Flaw::Hole { resumes: Some(resumes), after } => Some(OpenError::Hole { path, offset, next, resumes, after }),
        Flaw::Hole { resumes: None, .. } => Some(OpenError::Cut { path, offset, next }),
        Flaw::Disorder { found, epoch } => {
            Some(OpenError::Disorder { path, offset, next, found, least: scan.epoch, epoch })
        }
    }
}

/// Numbers in the names of sealed files.
pub(super) fn sealed_names(storage: &dyn Storage, path: &Path) -> io::Result<BTreeSet<Seq>> {
    let number = |suffix: OsString| {
        let text = suffix.into_string().ok()?;
        let number = text.parse().ok().filter(|number: &u64| *number > 0 && number.to_string() == text)?;
        Some(Seq(number))
    };
    Ok(storage.suffixes(path)?.into_iter().filter_map(number).collect())
}

/// Sealed files before the active one, all looked through.
#[derive(Debug)]
pub(super) struct Before {
    pub(super) sealed: Vec<Segment>,
    /// Names of files that another one has taken the place of.
    pub(super) stale: Vec<Seq>,
    /// Epoch of the last record in them.
    pub(super) epoch: Epoch,
}

/// Finds the sealed files that lead up to record `first`, with which the active file begins.
pub(super) fn find_sealed(storage: &dyn Storage, path: &Path, first: Seq) -> Result<Before, OpenError> {
    let failed = |source| OpenError::Io { action: "read", path: path.to_owned(), source };
    let names = sealed_names(storage, path).map_err(failed)?;
    let mut before = Before { sealed: vec![], stale: vec![], epoch: Epoch(0) };
    let mut at = Seq(1);
    while at < first {
        let following = |from: Seq| names.range(from..).next().copied().unwrap_or(first).min(first);
        if !names.contains(&at) {
            let last = Seq(following(at).0 - 1);
            return Err(OpenError::Missing { path: path.to_owned(), first: at, last, name: beside(path, at) });
        }
        let name = beside(path, at);
        let file = storage.open(&name, How::Read);
        let file = file.map_err(|source| OpenError::Io { action: "open", path: name.clone(), source })?;
        let subject = subject(&name, &file)?.filter(|subject| subject.header.first == at);
        let Some(mut subject) = subject else { return Err(OpenError::NotAJournal { path: name }) };
        let limit = following(at.next().max(subject.header.until));
        subject.limit = Some(limit);
        let scan = scan(&subject).map_err(|source| OpenError::Io { action: "read", path: name.clone(), source })?;
        if scan.next != limit {
            let cut = OpenError::Cut { path: name.clone(), offset: scan.end, next: scan.next };
            return Err(refusal(&name, &scan).unwrap_or(cut));
        }
        before.epoch = scan.epoch;
        before.sealed.push(Segment { path: name, file, header: subject.header, end: scan.end, next: limit });
        at = limit;
    }
    let used: BTreeSet<Seq> = before.sealed.iter().map(|segment| segment.header.first).collect();
    before.stale = names.difference(&used).copied().collect();
    Ok(before)
}

/// Whether the file says of itself that it was sealed.
pub(super) fn is_sealed(storage: &dyn Storage, name: &Path) -> bool {
    let notice = storage.open(name, How::Read).ok().and_then(|file| read_beginning(name, &*file).ok()?.1);
    notice.is_some_and(|notice| notice.is_sealed())
}

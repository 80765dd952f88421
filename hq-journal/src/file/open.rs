//! Makes a journal ready: locked, known to be whole, safe.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use hq_core::{Epoch, Seq};

use super::{
    FileOptions, frame,
    fresh::Fresh,
    header::{HEADER_LEN, Header, NOTICE_AT, Notice, VERSION},
    names::Names,
    read::FileRecords,
    recover::{TornTail, cut_tail},
    scan::{Flaw, scan},
    segment::{Layout, Segment, beside, find_sealed, is_sealed, read_beginning, refusal, subject},
};
use crate::{
    Holder, OpenError, ReadError,
    storage::{How, Storage, StoredFile},
};

/// What was found in a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// Number of the first record that is there, or of the first one to come.
    pub first: Seq,
    /// Number of the next record.
    pub next: Seq,
    /// Epoch of the last record; 0 where there is none.
    pub epoch: Epoch,
    /// What a crash had left at the end.
    pub torn: Option<TornTail>,
    /// Who had the journal until it was taken over.
    pub taken_from: Option<Holder>,
}

/// A journal that is ready.
pub(super) struct Opened {
    pub(super) layout: Layout,
    pub(super) recovery: Recovery,
}

/// Names that a crash may leave behind, of files that nothing depends on.
pub(super) const LEFTOVERS: [&str; 5] = ["next", "prune", "compact", "upgrade", "takeover"];

pub(super) fn open(storage: &Arc<dyn Storage>, path: &Path, options: &FileOptions) -> Result<Opened, OpenError> {
    let failed = |action| move |source| OpenError::Io { action, path: path.to_owned(), source };
    // To the end: nothing of what is found here changes before it counts.
    let names = Names::hold(storage, path).map_err(failed("open"))?;
    let (mut file, taken_from) = lock(&names, options.takeover)?;
    let known = subject(path, &file)?;
    let first = known.as_ref().map(|subject| subject.header.first);
    // Without an active file nobody knows how far the sealed ones go.
    let before = find_sealed(&**storage, path, first.unwrap_or(Seq(1)))?;
    let len = file.size().map_err(failed("read"))?;
    if first.is_none()
        && let Some(name) = last_sealed(&**storage, path, &before.stale)
    {
        if len == 0 {
            let _ = storage.remove(path); // it was made just now
        }
        return Err(OpenError::NoActive { path: path.to_owned(), name });
    }
    let (mut header, found, torn) = match known {
        Some(subject) => {
            let found = scan(&subject).map_err(failed("read"))?;
            if let Some(refusal) = refusal(path, &found) {
                return Err(refusal);
            }
            let is_torn = found.flaw == Some(Flaw::TornTail);
            let cut = is_torn.then(|| cut_tail(&**storage, path, &file, found.end, len));
            (subject.header, Some(found), cut.transpose().map_err(failed("repair"))?)
        }
        None => {
            let cut = (len > 0).then(|| cut_tail(&**storage, path, &file, 0, len));
            let torn = cut.transpose().map_err(failed("repair"))?;
            let header = Header::new(Seq(1), Epoch(0));
            // By a rename: a crash must not leave a file whose header is not whole.
            file = create(&names, header).map_err(failed("create"))?;
            (header, None, torn)
        }
    };
    let (mut end, next, epoch) =
        found.map_or((HEADER_LEN as u64, header.first, before.epoch), |scan| (scan.end, scan.next, scan.epoch));
    if header.version != VERSION {
        let old = Segment { path: path.to_owned(), file: file.clone(), header, end, next };
        (file, header, end) = upgrade(&names, old)?;
    } else {
        file.write_at(&Notice::now(end).encode(), NOTICE_AT as u64).map_err(failed("write"))?;
        // What a killed process wrote and did not sync is in the file's cache only: it counts as safe from here on.
        file.sync().map_err(failed("sync"))?;
    }
    tidy(&**storage, path, &*file, &before.stale);
    let active = Segment { path: path.to_owned(), file, header, end, next };
    let layout = Layout { sealed: before.sealed, active };
    let recovery = Recovery { first: layout.first(), next, epoch: epoch.max(before.epoch), torn, taken_from };
    Ok(Opened { layout, recovery })
}

fn create(names: &Names, header: Header) -> io::Result<Arc<dyn StoredFile>> {
    let mut fresh = Fresh::create(names, "next", header)?;
    fresh.finish(false)?;
    fresh.put_at(names, names.path())?;
    Ok(fresh.file().clone())
}

/// The file under lock, and who had it before.
fn lock(names: &Names, takeover: bool) -> Result<(Arc<dyn StoredFile>, Option<Holder>), OpenError> {
    let path = names.path();
    let failed = |action| move |source| OpenError::Io { action, path: path.to_owned(), source };
    let file = names.storage().open(path, How::Write).map_err(failed("open"))?;
    if file.try_lock().map_err(failed("lock"))? {
        return Ok((file, None));
    }
    let holder = read_beginning(path, &*file)?.1.map(|notice| notice.holder);
    if !takeover {
        return Err(OpenError::Held { path: path.to_owned(), holder });
    }
    Ok((take_over(names, &file).map_err(failed("take over"))?, holder))
}

/// Puts a copy in the place of a file that another process has locked. That one sees it before it calls anything safe.
fn take_over(names: &Names, old: &Arc<dyn StoredFile>) -> io::Result<Arc<dyn StoredFile>> {
    let (storage, path) = (names.storage(), names.path());
    let name = beside(path, "takeover");
    let _ = storage.remove(&name);
    let file = storage.open(&name, How::New)?;
    if !file.try_lock()? {
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, "another process has the copy"));
    }
    copy(&**old, &*file, 0)?;
    file.sync()?;
    storage.rename(&name, path)?;
    storage.sync_dir(path)?;
    // What was called safe until now is in the old file by now, if it is in none of the first copy.
    let known = subject(path, &file).ok().flatten();
    let whole = known.map(|subject| scan(&subject)).transpose()?.map_or(0, |scan| scan.end);
    copy(&**old, &*file, whole)?;
    file.sync()?;
    Ok(file)
}

fn copy(from: &dyn StoredFile, to: &dyn StoredFile, mut at: u64) -> io::Result<()> {
    let mut bytes = vec![0; 1 << 20];
    loop {
        match crate::storage::read_up_to(from, &mut bytes, at)? {
            0 => return Ok(()),
            n => to.write_at(&bytes[..n], at)?,
        }
        at += bytes.len() as u64;
    }
}

/// Writes a file of an earlier format anew, in the present one.
fn upgrade(names: &Names, old: Segment) -> Result<(Arc<dyn StoredFile>, Header, u64), OpenError> {
    let path = old.path.clone();
    let failed = |action| move |source| OpenError::Io { action, path: path.clone(), source };
    let header = Header { version: VERSION, ..old.header };
    let (path, next) = (old.path.clone(), old.next);
    let write = || -> io::Result<Fresh> {
        let mut fresh = Fresh::create(names, "upgrade", header)?;
        let mut records = FileRecords::new(Layout { sealed: vec![], active: old }, Seq(0));
        while let Some((epoch, batch)) = records.next_batch().map_err(into_io)? {
            let Some((first, _)) = batch.first() else { continue };
            let first = *first;
            let batch: Vec<_> = batch.into_iter().map(|(_, record)| record).collect();
            let mut bytes = Vec::new();
            frame::encode(&mut bytes, epoch, first, &batch).map_err(io::Error::other)?;
            fresh.write(&bytes)?;
        }
        fresh.finish(false)?;
        Ok(fresh)
    };
    debug_assert!(next >= header.first);
    let fresh = write().map_err(failed.clone()("upgrade"))?;
    fresh.put_at(names, &path).map_err(failed("upgrade"))?;
    Ok((fresh.file().clone(), header, fresh.end()))
}

fn into_io(error: ReadError) -> io::Error {
    match error {
        ReadError::Io(error) => error,
        error => io::Error::new(io::ErrorKind::InvalidData, error.to_string()),
    }
}

/// Removes what a crash has left behind; where that fails it costs room and no more.
fn tidy(storage: &dyn Storage, path: &Path, active: &dyn StoredFile, stale: &[Seq]) {
    for name in LEFTOVERS {
        let _ = storage.remove(&beside(path, name));
    }
    for first in stale {
        let name = beside(path, first);
        // Somebody may have a copy of that name: only what was sealed, or is the active file itself, goes.
        if storage.identity(&name).ok() == active.identity().ok() || is_sealed(storage, &name) {
            let _ = storage.remove(&name);
        }
    }
}

fn last_sealed(storage: &dyn Storage, path: &Path, firsts: &[Seq]) -> Option<PathBuf> {
    let mut names = firsts.iter().rev().map(|first| beside(path, first));
    names.find(|name| is_sealed(storage, name))
}

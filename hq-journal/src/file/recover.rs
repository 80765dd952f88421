//! Cuts off what a crash left behind, and keeps it beside the file.

use std::{
    fmt,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{scan::Section, segment::beside};
use crate::storage::{How, Storage, StoredFile};

/// What followed the last whole batch of a file, and was moved away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornTail {
    /// Where it began.
    pub offset: u64,
    /// Its length.
    pub bytes: u64,
    /// Where it is now, after what was there before.
    pub saved: PathBuf,
}

/// `the last 12 bytes, from byte 300, were not whole and are now in x.bad`.
impl fmt::Display for TornTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, bytes, saved } = self;
        write!(f, "the last {bytes} bytes, from byte {offset}, were not whole and are now in {}", saved.display())
    }
}

/// Moves `offset..len` of the file to the end of `FILE.bad`. The copy is safe before the original goes.
pub(super) fn cut_tail(
    storage: &dyn Storage,
    path: &Path,
    file: &Arc<dyn StoredFile>,
    offset: u64,
    len: u64,
) -> io::Result<TornTail> {
    let saved = beside(path, "bad");
    let bytes = keep(storage, &saved, file, offset, len)?;
    file.set_size(offset)?;
    file.sync()?;
    Ok(TornTail { offset, bytes, saved })
}

/// Copies a part of a file to the end of another one, and makes that safe.
pub(super) fn keep(
    storage: &dyn Storage,
    saved: &Path,
    file: &Arc<dyn StoredFile>,
    offset: u64,
    len: u64,
) -> io::Result<u64> {
    let bad = storage.open(saved, How::Write)?;
    let mut at = bad.size()?;
    let (mut section, mut chunk, start) = (Section::new(file.clone(), offset, len), vec![0; 1 << 16], at);
    loop {
        match section.read(&mut chunk)? {
            0 => break,
            n => bad.write_at(&chunk[..n], at)?,
        }
        at = start + (section.at() - offset);
    }
    bad.sync()?;
    storage.sync_dir(saved)?;
    Ok(at - start)
}

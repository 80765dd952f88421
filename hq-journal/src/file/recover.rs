//! Cuts off what a crash left behind, and keeps it beside the file.

use std::{
    ffi::OsString,
    fmt,
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::fs::OFlags;

use super::scan::Section;

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
pub(super) fn cut_tail(path: &Path, file: &Arc<File>, offset: u64, len: u64) -> io::Result<TornTail> {
    let mut saved = OsString::from(path);
    saved.push(".bad");
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    let mut bad = options.open(&saved)?;
    let bytes = io::copy(&mut Section::new(file.clone(), offset, len), &mut bad)?;
    bad.sync_all()?;
    file.set_len(offset)?;
    file.sync_all()?;
    Ok(TornTail { offset, bytes, saved: saved.into() })
}

//! What a journal asks of a file system: [`Storage`], as real [`Files`] and as a [`FaultyDisk`] in memory.

mod faulty;
mod files;

use std::{ffi::OsString, fmt, io, path::Path, sync::Arc};

pub use faulty::{Fault, FaultyDisk};
pub use files::Files;

/// A file system, as far as a journal needs one.
///
/// What is written is safe after [`StoredFile::sync`]; what is created, renamed, linked or removed is safe after
/// [`Storage::sync_dir`] of its directory. A rename is found whole or not at all after a crash.
pub trait Storage: Send + Sync + fmt::Debug {
    /// Opens a file, readable by its owner only if it is made. A link at `path` is not followed.
    ///
    /// # Errors
    /// As the system says; also where it is no regular file.
    fn open(&self, path: &Path, how: How) -> io::Result<Arc<dyn StoredFile>>;

    /// Gives a file another name, in place of whatever has it.
    ///
    /// # Errors
    /// As the system says; nothing has changed then.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file a second name.
    ///
    /// # Errors
    /// As the system says, as where the name is taken.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Takes a name away.
    ///
    /// # Errors
    /// As the system says.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// What follows the name of `path` and a dot in the names beside it.
    ///
    /// # Errors
    /// As the system says.
    fn suffixes(&self, path: &Path) -> io::Result<Vec<OsString>>;

    /// Makes safe what has happened to the names in the directory of `path`.
    ///
    /// # Errors
    /// As the system says.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;

    /// What tells the file of that name from others; see [`StoredFile::identity`].
    ///
    /// # Errors
    /// As the system says, as where there is none.
    fn identity(&self, path: &Path) -> io::Result<(u64, u64)>;
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// To be read; it must be there.
    Read,
    /// To be read and written; it is made if it is not there.
    Write,
    /// To be read and written; it must not be there before.
    New,
}

/// An open file.
pub trait StoredFile: Send + Sync + fmt::Debug {
    /// Reads at a place; fewer bytes than asked for, and none at the end.
    ///
    /// # Errors
    /// As the system says.
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize>;

    /// Writes all of it.
    ///
    /// # Errors
    /// As the system says; part of it may be written.
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;

    /// Its length.
    ///
    /// # Errors
    /// As the system says.
    fn size(&self) -> io::Result<u64>;

    /// Cuts it, or makes it longer by zeros.
    ///
    /// # Errors
    /// As the system says.
    fn set_size(&self, len: u64) -> io::Result<()>;

    /// Makes safe what was written.
    ///
    /// # Errors
    /// As the system says. What was written since the last success may be lost for good, even where a later one succeeds.
    fn sync(&self) -> io::Result<()>;

    /// Locks it against other openings, if none has; held until [`unlock`](Self::unlock), or until nobody has it open.
    ///
    /// # Errors
    /// As the system says.
    fn try_lock(&self) -> io::Result<bool>;

    /// Gives the lock back.
    fn unlock(&self);

    /// What tells this file from others, whatever its name is.
    ///
    /// # Errors
    /// As the system says.
    fn identity(&self) -> io::Result<(u64, u64)>;
}

/// Reads all that is asked for.
pub(crate) fn read_exact_at(file: &dyn StoredFile, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match read_at(file, bytes, at)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => {
                at += n as u64;
                bytes = bytes.get_mut(n..).unwrap_or_default();
            }
        }
    }
    Ok(())
}

/// Reads as much as there is, up to what is asked for.
pub(crate) fn read_up_to(file: &dyn StoredFile, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    let mut len = 0;
    while let Some(rest) = bytes.get_mut(len..).filter(|rest| !rest.is_empty()) {
        match read_at(file, rest, at + len as u64)? {
            0 => break,
            n => len += n,
        }
    }
    Ok(len)
}

/// As [`StoredFile::read_at`], whatever signals come.
pub(crate) fn read_at(file: &dyn StoredFile, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    loop {
        match file.read_at(bytes, at) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

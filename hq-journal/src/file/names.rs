//! Who may change the names of a journal's files, and when.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use super::segment::beside;
use crate::storage::{How, Storage, StoredFile};

/// Held by one at a time, across processes, while names of the journal's files change: a rename by one who has lost the
/// journal would put what is old in the place of what another has written since. It is the lock on `FILE.lock`, which
/// stays: a file that went could be locked twice.
///
/// Whoever has the active file open asks [`is_active`](Self::is_active) first, as it may have been taken over.
pub(super) struct Names {
    storage: Arc<dyn Storage>,
    path: PathBuf,
    lock: Arc<dyn StoredFile>,
}

/// A change of names takes a disk's time; so many waits, of so long, are far more.
const WAITS: u32 = 1_000;
const WAIT: Duration = Duration::from_millis(10);

impl Names {
    /// Waits for others up to ten seconds.
    ///
    /// # Errors
    /// As the system says, or where it is still not free then.
    pub(super) fn hold(storage: &Arc<dyn Storage>, path: &Path) -> io::Result<Self> {
        let name = beside(path, "lock");
        for _ in 0..WAITS {
            let lock = storage.open(&name, How::Write)?;
            if !lock.try_lock()? {
                thread::sleep(WAIT);
                continue;
            }
            // Somebody may have removed it while it was being locked.
            if storage.identity(&name).ok() == lock.identity().ok() {
                return Ok(Self { storage: storage.clone(), path: path.to_owned(), lock });
            }
        }
        let what = format!("another process has been changing its files for too long and has `{}`", name.display());
        Err(io::Error::new(io::ErrorKind::TimedOut, what))
    }

    /// Whether this is the file that has the journal's own name.
    pub(super) fn is_active(&self, file: &dyn StoredFile) -> bool {
        is_named(&*self.storage, &self.path, file)
    }

    pub(super) fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        self.lock.unlock();
    }
}

/// Whether a file is what is found under a name.
pub(super) fn is_named(storage: &dyn Storage, name: &Path, file: &dyn StoredFile) -> bool {
    storage.identity(name).ok().is_some_and(|there| file.identity().is_ok_and(|own| own == there))
}

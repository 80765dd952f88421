use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    io,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{How, Storage, StoredFile};

/// A disk in memory that does what the worst disks may do: operations fail when told to, and a [crash](Self::crash) loses
/// any part of what was not synced.
///
/// A sync that failed has lost what it was to make safe, whatever later ones say. A write that failed is torn.
#[derive(Clone, Debug, Default)]
pub struct FaultyDisk(Arc<Mutex<State>>);

/// Which operations fail. Reads and openings of what is there never do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The first one, from 0: writes, cuts, syncs and changes of names count.
    pub first: u64,
    /// How many, one after another.
    pub count: u64,
    /// The system's error code.
    pub code: i32,
}

/// What is lost of a page that was not synced is lost in units of this.
const SECTOR: usize = 512;

#[derive(Debug, Default)]
struct State {
    inodes: Vec<Inode>,
    names: BTreeMap<PathBuf, usize>,
    safe_names: BTreeMap<PathBuf, usize>,
    /// Changes of names since the last sync.
    changes: Vec<Change>,
    operations: u64,
    fault: Option<Fault>,
}

#[derive(Clone, Debug, Default)]
struct Inode {
    bytes: Vec<u8>,
    safe: Vec<u8>,
    /// Sectors that were written and not synced.
    dirty: BTreeSet<usize>,
    locked: bool,
}

#[derive(Clone, Debug)]
enum Change {
    Put(PathBuf, usize),
    Move(PathBuf, PathBuf, usize),
    Drop(PathBuf),
}

impl FaultyDisk {
    /// An empty one on which nothing fails.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets operations fail from now on: `first` counts from here.
    pub fn fail(&self, fault: Fault) {
        let mut state = self.lock();
        state.operations = 0;
        state.fault = Some(fault);
    }

    /// How many operations there were since the last [`fail`](Self::fail).
    pub fn operations(&self) -> u64 {
        self.lock().operations
    }

    /// What is found after a crash: all that was synced, and of the rest what `keep` says, asked once for each sector, each
    /// length and each change of a name. Locks are gone, and nothing fails.
    pub fn crash(&self, mut keep: impl FnMut() -> bool) -> Self {
        let state = self.lock();
        let mut names = state.safe_names.clone();
        for change in &state.changes {
            if !keep() {
                continue;
            }
            match change {
                Change::Put(path, inode) => _ = names.insert(path.clone(), *inode),
                Change::Move(from, to, inode) => {
                    names.remove(from);
                    names.insert(to.clone(), *inode);
                }
                Change::Drop(path) => _ = names.remove(path),
            }
        }
        let inodes = state.inodes.iter().map(|inode| inode.after_crash(&mut keep)).collect();
        let fresh = State { inodes, safe_names: names.clone(), names, ..State::default() };
        Self(Arc::new(Mutex::new(fresh)))
    }

    /// The bytes of a file.
    pub fn bytes(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.lock();
        state.names.get(path).map(|inode| state.inodes[*inode].bytes.clone())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an operation.
    fn begin(&self) -> (MutexGuard<'_, State>, io::Result<()>) {
        let mut state = self.lock();
        let n = state.operations;
        state.operations += 1;
        let fault = state.fault.filter(|fault| n >= fault.first && n - fault.first < fault.count);
        (state, fault.map_or(Ok(()), |fault| Err(io::Error::from_raw_os_error(fault.code))))
    }
}

impl Inode {
    fn after_crash(&self, keep: &mut impl FnMut() -> bool) -> Self {
        let mut bytes = self.safe.clone();
        if self.bytes.len() != bytes.len() && keep() {
            bytes.resize(self.bytes.len(), 0);
        }
        for sector in &self.dirty {
            let range = sector * SECTOR..((sector + 1) * SECTOR).min(bytes.len()).min(self.bytes.len());
            if range.start < range.end && keep() {
                bytes[range.clone()].copy_from_slice(&self.bytes[range]);
            }
        }
        Self { safe: bytes.clone(), bytes, ..Self::default() }
    }

    fn write(&mut self, bytes: &[u8], at: usize) {
        let end = at + bytes.len();
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        self.bytes[at..end].copy_from_slice(bytes);
        self.dirty.extend(at / SECTOR..end.div_ceil(SECTOR));
    }
}

impl Storage for FaultyDisk {
    fn open(&self, path: &Path, how: How) -> io::Result<Arc<dyn StoredFile>> {
        let known = self.lock().names.get(path).copied();
        let inode = match known {
            Some(_) if how == How::New => return Err(io::ErrorKind::AlreadyExists.into()),
            Some(inode) => inode,
            None if how == How::Read => return Err(io::ErrorKind::NotFound.into()),
            None => {
                let (mut state, allowed) = self.begin();
                allowed?;
                let inode = state.inodes.len();
                state.inodes.push(Inode::default());
                state.names.insert(path.to_owned(), inode);
                state.changes.push(Change::Put(path.to_owned(), inode));
                inode
            }
        };
        Ok(Arc::new(OpenFile { disk: self.clone(), inode, locked: Mutex::new(false) }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (mut state, allowed) = self.begin();
        allowed?;
        let inode = state.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        state.names.insert(to.to_owned(), inode);
        state.changes.push(Change::Move(from.to_owned(), to.to_owned(), inode));
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (mut state, allowed) = self.begin();
        allowed?;
        let inode = *state.names.get(from).ok_or(io::ErrorKind::NotFound)?;
        if state.names.contains_key(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.names.insert(to.to_owned(), inode);
        state.changes.push(Change::Put(to.to_owned(), inode));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let (mut state, allowed) = self.begin();
        allowed?;
        state.names.remove(path).ok_or(io::ErrorKind::NotFound)?;
        state.changes.push(Change::Drop(path.to_owned()));
        Ok(())
    }

    fn suffixes(&self, path: &Path) -> io::Result<Vec<OsString>> {
        let state = self.lock();
        let prefix = [path.as_os_str().as_bytes(), b"."].concat();
        let rest = state.names.keys().filter_map(|name| name.as_os_str().as_bytes().strip_prefix(&prefix[..]));
        Ok(rest.map(|rest| OsString::from_vec(rest.to_vec())).collect())
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        let (mut state, allowed) = self.begin();
        allowed?;
        state.safe_names = state.names.clone();
        state.changes.clear();
        Ok(())
    }

    fn identity(&self, path: &Path) -> io::Result<(u64, u64)> {
        let state = self.lock();
        let inode = state.names.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok((0, *inode as u64))
    }
}

#[derive(Debug)]
struct OpenFile {
    disk: FaultyDisk,
    inode: usize,
    locked: Mutex<bool>,
}

impl OpenFile {
    fn locked(&self) -> MutexGuard<'_, bool> {
        self.locked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        self.unlock();
    }
}

impl StoredFile for OpenFile {
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize> {
        let state = self.disk.lock();
        let all = &state.inodes[self.inode].bytes;
        let from = &all[all.len().min(usize::try_from(at).unwrap_or(usize::MAX))..];
        let len = from.len().min(bytes.len());
        bytes[..len].copy_from_slice(&from[..len]);
        Ok(len)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        let (mut state, allowed) = self.disk.begin();
        let at = usize::try_from(at).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let len = if allowed.is_ok() { bytes.len() } else { bytes.len() / 2 };
        state.inodes[self.inode].write(&bytes[..len], at);
        allowed
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.disk.lock().inodes[self.inode].bytes.len() as u64)
    }

    fn set_size(&self, len: u64) -> io::Result<()> {
        let (mut state, allowed) = self.disk.begin();
        allowed?;
        let len = usize::try_from(len).map_err(|_| io::ErrorKind::FileTooLarge)?;
        state.inodes[self.inode].bytes.resize(len, 0);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let (mut state, allowed) = self.disk.begin();
        let inode = &mut state.inodes[self.inode];
        let dirty = std::mem::take(&mut inode.dirty);
        if allowed.is_ok() {
            let lost = std::mem::take(&mut inode.safe);
            inode.safe = inode.bytes.clone();
            // What an earlier sync has lost stays lost: only what is dirty is written.
            let kept = inode.safe.len().min(lost.len());
            for sector in 0..kept.div_ceil(SECTOR) {
                if !dirty.contains(&sector) {
                    let range = sector * SECTOR..((sector + 1) * SECTOR).min(kept);
                    inode.safe[range.clone()].copy_from_slice(&lost[range]);
                }
            }
            for sector in kept.div_ceil(SECTOR)..inode.safe.len().div_ceil(SECTOR) {
                if !dirty.contains(&sector) {
                    let range = sector * SECTOR..((sector + 1) * SECTOR).min(inode.safe.len());
                    inode.safe[range].fill(0);
                }
            }
        }
        allowed
    }

    fn try_lock(&self) -> io::Result<bool> {
        let mut state = self.disk.lock();
        let is_free = !std::mem::replace(&mut state.inodes[self.inode].locked, true);
        if is_free {
            *self.locked() = true;
        }
        Ok(is_free)
    }

    fn unlock(&self) {
        if std::mem::take(&mut *self.locked()) {
            self.disk.lock().inodes[self.inode].locked = false;
        }
    }

    fn identity(&self) -> io::Result<(u64, u64)> {
        Ok((0, self.inode as u64))
    }
}

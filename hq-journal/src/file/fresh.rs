use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    header::{HEADER_LEN, Header, Notice},
    segment::beside,
};
use crate::storage::{How, Storage, StoredFile};

/// A file that is going to take a place in a journal once it is whole and safe. It is locked from the beginning.
pub(super) struct Fresh {
    storage: Arc<dyn Storage>,
    file: Arc<dyn StoredFile>,
    name: PathBuf,
    header: Header,
    end: u64,
    /// What is not written yet.
    bytes: Vec<u8>,
}

/// Written at a time.
const CHUNK: usize = 1 << 20;

impl Fresh {
    /// A new file beside `path`.
    pub(super) fn create(storage: Arc<dyn Storage>, path: &Path, suffix: &str, header: Header) -> io::Result<Self> {
        let name = beside(path, suffix);
        let file = storage.open(&name, How::Fresh)?;
        if !file.try_lock()? {
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, "another process works on the journal"));
        }
        let bytes = header.encode(&Notice::now(0)).to_vec();
        Ok(Self { storage, file, name, header, end: HEADER_LEN as u64, bytes })
    }

    /// Gives it another header.
    pub(super) fn set_header(&mut self, header: Header) {
        self.header = header;
    }

    /// Adds frames.
    pub(super) fn write(&mut self, frames: &[u8]) -> io::Result<()> {
        self.bytes.extend_from_slice(frames);
        self.end += frames.len() as u64;
        if self.bytes.len() >= CHUNK { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_at(&self.bytes, self.end - self.bytes.len() as u64)?;
        self.bytes.clear();
        Ok(())
    }

    /// Makes all of it safe.
    pub(super) fn finish(&mut self, sealed: bool) -> io::Result<()> {
        self.flush()?;
        let notice = if sealed { Notice::sealed(self.end) } else { Notice::now(self.end) };
        self.file.write_at(&self.header.encode(&notice), 0)?;
        self.file.sync()
    }

    /// Gives it its name, in place of what has it. The change is safe after this.
    pub(super) fn put_at(&self, path: &Path) -> io::Result<()> {
        self.rename(path)?;
        self.storage.sync_dir(path)
    }

    /// The same, and not safe yet.
    pub(super) fn rename(&self, path: &Path) -> io::Result<()> {
        self.storage.rename(&self.name, path)
    }

    /// Gives it up.
    pub(super) fn discard(self) {
        let _ = self.storage.remove(&self.name);
    }

    pub(super) fn file(&self) -> &Arc<dyn StoredFile> {
        &self.file
    }

    /// Its length.
    pub(super) const fn end(&self) -> u64 {
        self.end
    }
}

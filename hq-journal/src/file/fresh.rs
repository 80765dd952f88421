use std::{
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    header::{HEADER_LEN, Header, Notice},
    names::{Names, is_named},
    scan::Section,
    segment::{Segment, beside},
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
    /// A new file beside the journal, which must be one's own: whatever has that name is nobody's then.
    pub(super) fn create(names: &Names, suffix: &str, header: Header) -> io::Result<Self> {
        let (storage, name) = (names.storage().clone(), beside(names.path(), suffix));
        storage.remove(&name).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })?;
        let file = storage.open(&name, How::New)?;
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

    /// Adds what follows in another file, up to a place, and makes all of it safe.
    pub(super) fn catch_up(&mut self, with: &mut Segment, to: u64) -> io::Result<()> {
        let mut rest = Section::new(with.file.clone(), with.end, to);
        let mut chunk = vec![0; 1 << 16];
        loop {
            match rest.read(&mut chunk)? {
                0 => break,
                n => self.write(&chunk[..n])?,
            }
        }
        with.end = to;
        self.finish(false)
    }

    /// Makes all of it safe.
    pub(super) fn finish(&mut self, sealed: bool) -> io::Result<()> {
        self.flush()?;
        let notice = if sealed { Notice::sealed(self.end) } else { Notice::now(self.end) };
        self.file.write_at(&self.header.encode(&notice), 0)?;
        self.file.sync()
    }

    /// Gives it its name, in place of what has it. The change is safe after this.
    pub(super) fn put_at(&self, names: &Names, path: &Path) -> io::Result<()> {
        self.rename(names, path)?;
        self.storage.sync_dir(path)
    }

    /// The same, and not safe yet.
    pub(super) fn rename(&self, _: &Names, path: &Path) -> io::Result<()> {
        self.storage.rename(&self.name, path)
    }

    /// Gives it up. By now another process may have a file of that name.
    pub(super) fn discard(self) {
        if is_named(&*self.storage, &self.name, &*self.file) {
            let _ = self.storage.remove(&self.name);
        }
    }

    pub(super) fn file(&self) -> &Arc<dyn StoredFile> {
        &self.file
    }

    /// Its length.
    pub(super) const fn end(&self) -> u64 {
        self.end
    }
}

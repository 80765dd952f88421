use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

/// Bytes that can be read from any place.
pub trait ReadAt {
    /// Reads from byte `at` into `buffer`; less than fits where there is no more, 0 at the end.
    ///
    /// # Errors
    /// As the system says.
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize>;
}

impl ReadAt for &[u8] {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        let rest = usize::try_from(at).ok().and_then(|at| self.get(at..)).unwrap_or_default();
        let n = rest.len().min(buffer.len());
        buffer[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }
}

/// A file, open or to be opened for each read: there may be more workers than a process may have files open.
#[derive(Debug)]
pub(crate) enum Source {
    Open(File),
    Named(PathBuf),
}

impl Source {
    /// Opens the file where `keep` is set.
    pub(crate) fn new(path: &Path, keep: bool) -> io::Result<Self> {
        if keep { Ok(Self::Open(File::open(path)?)) } else { Ok(Self::Named(path.to_owned())) }
    }
}

impl ReadAt for Source {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        let result = match self {
            Self::Open(file) => file.read_at(buffer, at),
            Self::Named(path) => File::open(path)?.read_at(buffer, at),
        };
        match result {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => self.read_at(buffer, at),
            result => result,
        }
    }
}

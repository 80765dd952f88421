use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use crate::AllocationId;

const SCRIPT: &str = "hq-submit.sh";
const ID: &str = "jobid";
/// An id is not longer.
const ID_MAX: u64 = 256;

/// Where script, id and outputs of one allocation lie. Only its owner can read it.
///
/// | File | What it is |
/// |---|---|
/// | `hq-submit.sh` | the script |
/// | `jobid` | the manager's id, once there is one |
/// | `stdout`, `stderr` | what the job says |
#[derive(Clone, Debug)]
pub struct AllocationDir {
    path: PathBuf,
}

/// A directory of an allocation cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// Not an absolute path, or not one that a script can name.
    #[error("{0:?} is no absolute path of printable characters: start the server in another directory")]
    Path(PathBuf),
    /// An allocation has been asked for from here.
    #[error("{0:?} belongs to an earlier allocation")]
    Used(PathBuf),
    /// A file cannot be written.
    #[error("{path:?} cannot be written: {source}")]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl AllocationDir {
    /// The files of an allocation that was asked for earlier.
    pub fn open(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Creates the directory with all above it. One of a submission that failed is used again.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn create(path: &Path) -> Result<Self, DirectoryError> {
        let is_printable = path.to_str().is_some_and(|text| !text.chars().any(char::is_control));
        if !path.is_absolute() || !is_printable {
            return Err(DirectoryError::Path(path.to_owned()));
        }
        let dir = Self { path: path.to_owned() };
        // What lies there by way of a link may be anybody's.
        let is_link = path.symlink_metadata().is_ok_and(|data| !data.is_dir());
        if is_link || dir.file(ID).symlink_metadata().is_ok() {
            return Err(DirectoryError::Used(path.to_owned()));
        }
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(path).map_err(|source| DirectoryError::Write { path: path.to_owned(), source })?;
        Ok(dir)
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of one of its files, as text: it has been checked.
    pub fn text(&self, file: &str) -> String {
        self.file(file).to_string_lossy().into_owned()
    }

    /// Writes the script and tells its path.
    ///
    /// # Errors
    /// Why it cannot be written.
    pub fn write_script(&self, text: &str) -> Result<String, DirectoryError> {
        self.write(SCRIPT, text)?;
        Ok(self.text(SCRIPT))
    }

    /// The path of its script.
    pub fn script(&self) -> PathBuf {
        self.file(SCRIPT)
    }

    /// Writes the id down.
    ///
    /// # Errors
    /// Why it cannot be written.
    pub fn write_id(&self, id: &AllocationId) -> Result<(), DirectoryError> {
        self.write(ID, &id.0)
    }

    /// The id, if one was written down.
    pub fn read_id(&self) -> Option<AllocationId> {
        let path = self.file(ID);
        let is_short = path.symlink_metadata().is_ok_and(|data| data.is_file() && data.len() <= ID_MAX);
        let text = fs::read_to_string(path).ok().filter(|_| is_short)?;
        Some(AllocationId(text.trim().to_owned())).filter(|id| !id.0.is_empty())
    }

    /// As a whole or not at all.
    fn write(&self, name: &str, text: &str) -> Result<(), DirectoryError> {
        let (path, new) = (self.file(name), self.file(&format!(".{name}.new")));
        let write = || {
            let _ = fs::remove_file(&new);
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
            file.write_all(text.as_bytes())?;
            fs::rename(&new, &path)
        };
        write().map_err(|source| DirectoryError::Write { path: path.clone(), source })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

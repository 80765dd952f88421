use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use super::CURRENT;
use super::error::{NotADirectory, ServerDirError};
use super::guard::refuse_shared;
use super::run_dir::{RunDir, Seeker};

/// A server directory, as a server uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerDir {
    path: PathBuf,
}

impl ServerDir {
    /// Opens the directory, and makes it (and its parents) with mode 0700 if it is missing. The
    /// path is made absolute.
    ///
    /// # Errors
    /// [`ServerDirError::Invalid`] if there is something else, [`ServerDirError::Create`];
    /// [`ServerDirError::ForeignOwner`] and [`ServerDirError::TooOpen`] if others could change what is in it.
    pub fn open_or_create(path: &Path) -> Result<Self, ServerDirError> {
        let failed = |source| ServerDirError::Create { path: path.into(), source };
        if !path.is_dir() {
            if path.symlink_metadata().is_ok() {
                let source = NotADirectory { path: path.into() };
                return Err(ServerDirError::Invalid { seeker: Seeker::Client, source });
            }
            DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        }
        refuse_shared(path)?;
        let path = path.canonicalize().map_err(failed)?;
        Ok(Self { path })
    }

    /// The absolute path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the directory of a new run, mode 0700: its name is the highest number in use plus
    /// one, in three digits at least. Two servers that start at once get two.
    ///
    /// # Errors
    /// [`ServerDirError::Create`].
    pub fn create_run(&self) -> Result<RunDir, ServerDirError> {
        let failed = |path: &Path, source| ServerDirError::Create { path: path.into(), source };
        loop {
            let number = self.highest_run().map_err(|e| failed(&self.path, e))? + 1;
            let path = self.path.join(format!("{number:03}"));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(RunDir::new(path)),
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(failed(&path, e)),
            }
        }
    }

    fn highest_run(&self) -> io::Result<u32> {
        let mut highest = 0;
        for entry in fs::read_dir(&self.path)? {
            let name = entry?.file_name();
            let digits = name.to_str().filter(|n| n.bytes().all(|b| b.is_ascii_digit()));
            if let Some(Ok(number)) = digits.map(str::parse::<u32>) {
                highest = highest.max(number.min(u32::MAX - 1));
            }
        }
        Ok(highest)
    }

    /// Makes `hq-current` name this run, in one step: who follows it finds the old run or the new
    /// one.
    ///
    /// # Errors
    /// [`ServerDirError::Create`], also when `hq-current` is a real directory.
    pub fn set_current(&self, run: &RunDir) -> Result<(), ServerDirError> {
        let current = self.path.join(CURRENT);
        let failed = |source| ServerDirError::Create { path: current.clone(), source };
        let fresh = run.path().join(".hq-current");
        symlink(run.path(), &fresh).map_err(failed)?;
        fs::rename(&fresh, &current).map_err(|e| {
            let _ = fs::remove_file(&fresh);
            failed(e)
        })
    }

    /// Removes `hq-current` if it names this run.
    ///
    /// # Errors
    /// The operating system's; a link that is gone or names another run is no error.
    pub fn clear_current(&self, run: &RunDir) -> io::Result<()> {
        let current = self.path.join(CURRENT);
        match fs::read_link(&current) {
            Ok(target) if target == run.path() => fs::remove_file(&current),
            _ => Ok(()),
        }
    }
}

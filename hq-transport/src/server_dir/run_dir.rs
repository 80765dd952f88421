use std::path::{Path, PathBuf};

use super::error::{NotADirectory, ServerDirError};
use super::guard::refuse_shared;
use super::{ACCESS_FILE, CURRENT};
use crate::access::{AccessError, AccessRecord, Endpoint};

/// The directory of one run of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDir {
    path: PathBuf,
}

/// Who looks for a server; decides the words of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seeker {
    /// A client command.
    Client,
    /// A worker.
    Worker,
}

impl Seeker {
    pub(super) fn complaint(self) -> &'static str {
        match self {
            Self::Client => "Invalid server directory",
            Self::Worker => "Cannot load server directory",
        }
    }
}

impl RunDir {
    /// The run that `--server-dir` names: its `hq-current` if that is a directory (links are
    /// followed), else itself.
    ///
    /// # Errors
    /// [`ServerDirError::Invalid`] if it is no directory; [`ServerDirError::ForeignOwner`] and
    /// [`ServerDirError::TooOpen`] if others could have made what is in one of them.
    pub fn find(server_dir: &Path, seeker: Seeker) -> Result<Self, ServerDirError> {
        if !server_dir.is_dir() {
            let source = NotADirectory { path: server_dir.into() };
            return Err(ServerDirError::Invalid { seeker, source });
        }
        refuse_shared(server_dir)?;
        let current = server_dir.join(CURRENT);
        if !current.is_dir() {
            return Ok(Self { path: server_dir.into() });
        }
        refuse_shared(&current)?;
        Ok(Self { path: current })
    }

    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where its access record is.
    #[must_use]
    pub fn access_path(&self) -> PathBuf {
        self.path.join(ACCESS_FILE)
    }

    /// Reads its access record; see [`AccessRecord::load`].
    ///
    /// # Errors
    /// [`ServerDirError::NoInstance`] if there is none, else [`ServerDirError::Access`].
    pub fn load_access(&self, current_version: &str) -> Result<AccessRecord, ServerDirError> {
        AccessRecord::load(&self.access_path(), current_version).map_err(|e| match e {
            AccessError::NotFound { .. } => ServerDirError::NoInstance { dir: self.path.clone() },
            other => other.into(),
        })
    }

    /// Where the server of this run, if its record has this client part, has its socket for
    /// clients of the same user and machine; see [`client_socket_path`](super::client_socket_path).
    #[must_use]
    pub fn client_socket(&self, client: &Endpoint) -> PathBuf {
        super::client_socket_path(&self.path, client)
    }
}

use std::io;
use std::path::PathBuf;

use super::run_dir::Seeker;
use crate::access::AccessError;

/// A server directory could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerDirError {
    /// No such directory; the text depends on who asks, the cause names the directory.
    #[error("{}", seeker.complaint())]
    Invalid {
        /// Who asks.
        seeker: Seeker,
        /// `"DIR" is not a directory`.
        #[source]
        source: NotADirectory,
    },
    /// A directory, with no access record in it.
    #[error("No running instance of HQ found at {dir:?}")]
    NoInstance {
        /// The run directory that was looked into.
        dir: PathBuf,
    },
    /// It belongs to somebody else, who could put another record there.
    #[error("directory {path:?} belongs to another user (uid {owner}): refused")]
    ForeignOwner {
        /// The directory.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// Others could put another record there.
    #[error("directory {path:?} is writable by others (mode {mode:04o}): close it with `chmod 700 {}`", path.display())]
    TooOpen {
        /// The directory.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The access record cannot be used.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// A directory or link could not be made.
    #[error("cannot create {path:?}")]
    Create {
        /// What was to be made.
        path: PathBuf,
        /// The reason.
        #[source]
        source: io::Error,
    },
}

/// A path is no directory, or nothing at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path:?} is not a directory")]
pub struct NotADirectory {
    /// The path.
    pub path: PathBuf,
}

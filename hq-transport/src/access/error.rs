use std::io;
use std::path::PathBuf;

use crate::peer::Role;

/// An access record could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccessError {
    /// No file of this name.
    #[error("no access record at {path:?}")]
    NotFound {
        /// The file.
        path: PathBuf,
    },
    /// A file of this name is there already; it is not overwritten.
    #[error("file {path:?} already exists")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The operating system's error.
    #[error("cannot access {path:?}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: io::Error,
    },
    /// A directory, a device or the like.
    #[error("access record {path:?} is not a regular file")]
    NotAFile {
        /// The file.
        path: PathBuf,
    },
    /// It belongs to somebody else, who could make us connect anywhere.
    #[error("access record {path:?} belongs to another user (uid {owner}): refused")]
    ForeignOwner {
        /// The file.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// Others may write it, or may read it and that cannot be changed.
    #[error("permissions too open: access record {path:?} has mode {mode:04o}, others must not {what} it")]
    TooOpen {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
        /// `read` or `write`.
        what: &'static str,
    },
    /// Nothing in it.
    #[error("access record {path:?} is empty")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// No text in it, or far too much.
    #[error("access record {path:?} is not a text file of at most 64 KiB")]
    Binary {
        /// The file.
        path: PathBuf,
    },
    /// Its end is missing.
    #[error("access record {path:?} is truncated")]
    Truncated {
        /// The file.
        path: PathBuf,
    },
    /// Text, but no access record.
    #[error("access record {path:?} is malformed at line {line}, column {column}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where, from 1.
        line: u64,
        /// Where, from 1.
        column: u64,
    },
    /// A host in it cannot be one.
    #[error("access record {path:?} has an invalid {role} host")]
    BadHost {
        /// The file.
        path: PathBuf,
        /// Which part.
        role: Role,
    },
    /// Made by another version of the program.
    #[error("Access record contains version {found}, but the current version is {current}")]
    Version {
        /// Version in the record.
        found: String,
        /// Version of this program.
        current: String,
    },
}

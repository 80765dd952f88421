use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use serde::Deserialize;

use super::error::AccessError;
use super::record::AccessRecord;
use crate::peer::{Role, Versions};

const LEN_MAX: u64 = 64 << 10;

impl AccessRecord {
    /// Writes the record to a new file with mode 0400 (symbolic links are not followed). Blocks
    /// on the disk.
    ///
    /// # Errors
    /// [`AccessError::Exists`] and [`AccessError::Io`]; a file that was not written to its end is
    /// removed.
    pub fn save(&self, path: &Path) -> Result<(), AccessError> {
        let opened = OpenOptions::new().write(true).create_new(true).mode(0o400).open(path);
        let mut file = opened.map_err(|source| match source.kind() {
            ErrorKind::AlreadyExists => AccessError::Exists { path: path.into() },
            _ => AccessError::Io { path: path.into(), source },
        })?;
        let written = serde_json::to_string_pretty(self)
            .map_err(io::Error::from)
            .and_then(|text| file.write_all(text.as_bytes()))
            .and_then(|()| file.write_all(b"\n"))
            .and_then(|()| file.sync_all());
        written.map_err(|source| {
            let _ = std::fs::remove_file(path);
            AccessError::Io { path: path.into(), source }
        })
    }

    /// Reads the record of a file that only we could have written, made by this version of the
    /// program. A file of ours that others may read is closed to them, with a warning in the log.
    /// Blocks on the disk.
    ///
    /// # Errors
    /// See [`AccessError`]; each way to be wrong has its own.
    pub fn load(path: &Path, current_version: &str) -> Result<Self, AccessError> {
        let io_error = |source: io::Error| match source.kind() {
            ErrorKind::NotFound => AccessError::NotFound { path: path.into() },
            _ => AccessError::Io { path: path.into(), source },
        };
        // Checks are made on the open file, so that no other can be slipped in between. Opening a
        // pipe must not wait for its other end.
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
        let file = file.map_err(io_error)?;
        check_permissions(&file, path).map_err(|e| e.unwrap_or_else(io_error))?;
        let mut bytes = Vec::new();
        file.take(LEN_MAX + 1).read_to_end(&mut bytes).map_err(io_error)?;
        parse(&bytes, path, current_version)
    }
}

/// What the owner and mode of a file ask for.
#[derive(Debug, PartialEq, Eq)]
enum Openness {
    Closed,
    Foreign,
    Writable,
    Readable,
}

impl Openness {
    fn of(owner: u32, mode: u32, me: u32) -> Self {
        if owner != me {
            Self::Foreign
        } else if mode & 0o022 != 0 {
            Self::Writable
        } else if mode & 0o055 != 0 {
            Self::Readable
        } else {
            Self::Closed
        }
    }
}

enum CheckError {
    Access(AccessError),
    Io(io::Error),
}

impl CheckError {
    fn unwrap_or_else(self, f: impl FnOnce(io::Error) -> AccessError) -> AccessError {
        match self {
            Self::Access(e) => e,
            Self::Io(e) => f(e),
        }
    }
}

fn check_permissions(file: &File, path: &Path) -> Result<(), CheckError> {
    let meta = file.metadata().map_err(CheckError::Io)?;
    if !meta.is_file() {
        return Err(CheckError::Access(AccessError::NotAFile { path: path.into() }));
    }
    let mode = meta.mode() & 0o7777;
    let too_open = |what| AccessError::TooOpen { path: path.into(), mode, what };
    match Openness::of(meta.uid(), mode, rustix::process::geteuid().as_raw()) {
        Openness::Closed => Ok(()),
        Openness::Foreign => {
            let owner = meta.uid();
            Err(CheckError::Access(AccessError::ForeignOwner { path: path.into(), owner }))
        }
        Openness::Writable => Err(CheckError::Access(too_open("write"))),
        Openness::Readable => {
            let closed = Permissions::from_mode(mode & 0o7700);
            file.set_permissions(closed).map_err(|_| CheckError::Access(too_open("read")))?;
            tracing::warn!("access record {path:?} was readable by others (mode {mode:04o}): closed to them");
            Ok(())
        }
    }
}

fn parse(bytes: &[u8], path: &Path, current: &str) -> Result<AccessRecord, AccessError> {
    let path = || path.to_path_buf();
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(AccessError::Empty { path: path() });
    }
    let text = str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    let Some(text) = text.filter(|text| text.len() as u64 <= LEN_MAX) else {
        return Err(AccessError::Binary { path: path() });
    };
    let json_error = |e: serde_json::Error| {
        if e.is_eof() {
            return AccessError::Truncated { path: path() };
        }
        AccessError::Malformed { path: path(), line: e.line() as u64, column: e.column() as u64 }
    };
    // First the version: a record of another one may look different in all the rest.
    let Version { version: found } = serde_json::from_str(text).map_err(json_error)?;
    if found != current {
        let found = if Versions::is_valid_program(&found) { found } else { "?".to_owned() };
        return Err(AccessError::Version { found, current: current.to_owned() });
    }
    let record: AccessRecord = serde_json::from_str(text).map_err(json_error)?;
    for role in [Role::Client, Role::Worker] {
        if record.endpoint(role).is_some_and(|endpoint| !endpoint.is_valid()) {
            return Err(AccessError::BadHost { path: path(), role });
        }
    }
    Ok(record)
}

#[derive(Deserialize)]
struct Version {
    version: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openness_table() {
        const ME: u32 = 1000;
        for (owner, mode, expected) in [
            (ME, 0o400, Openness::Closed),
            (ME, 0o600, Openness::Closed),
            (ME, 0o700, Openness::Closed),
            (ME, 0o644, Openness::Readable),
            (ME, 0o440, Openness::Readable),
            (ME, 0o604, Openness::Readable),
            (ME, 0o620, Openness::Writable),
            (ME, 0o602, Openness::Writable),
            (ME, 0o666, Openness::Writable),
            (ME + 1, 0o400, Openness::Foreign),
            (0, 0o644, Openness::Foreign),
            (ME + 1, 0o666, Openness::Foreign),
        ] {
            assert_eq!(Openness::of(owner, mode, ME), expected, "{owner} {mode:o}");
        }
    }
}

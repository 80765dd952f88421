//! Makes a file ready: locked, known to be whole, safe.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::Path,
    sync::Arc,
};

use hq_core::{Epoch, Seq};
use rustix::fs::OFlags;

use super::{
    header::{self, Beginning, HEADER_LEN, HOLDER_AT, Header},
    recover::{TornTail, cut_tail},
    scan::{Flaw, scan},
};
use crate::{Holder, OpenError};

/// What was found in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// Number of the first record in the file, or of the first one to come.
    pub first: Seq,
    /// Number of the next record.
    pub next: Seq,
    /// Epoch of the last record; 0 where there is none.
    pub epoch: Epoch,
    /// What a crash had left at the end.
    pub torn: Option<TornTail>,
}

/// A file that is ready.
pub(super) struct Opened {
    pub(super) file: Arc<File>,
    pub(super) end: u64,
    pub(super) recovery: Recovery,
}

pub(super) fn open(path: &Path) -> Result<Opened, OpenError> {
    let failed = |action| move |source| OpenError::Io { action, path: path.to_owned(), source };
    let file = open_private(path).map_err(failed("open"))?;
    lock(path, &file)?;
    let holder = Holder::this_process();
    let file = Arc::new(file);
    let len = file.metadata().map_err(failed("read"))?.len();
    let (header, torn) = match read_beginning(path, &file)? {
        Beginning::Whole(header) => (header, None),
        Beginning::Fresh => {
            let torn = (len > 0).then(|| cut_tail(path, &file, 0, len)).transpose().map_err(failed("repair"))?;
            let header = Header { first: Seq(1), epoch: Epoch(0) };
            create(path, &file, header, &holder).map_err(failed("create"))?;
            (header, torn)
        }
        Beginning::Future(found) => {
            return Err(OpenError::Future { path: path.to_owned(), found, known: header::VERSION });
        }
        Beginning::Damaged => return Err(OpenError::DamagedHeader { path: path.to_owned() }),
        Beginning::Foreign => return Err(OpenError::NotAJournal { path: path.to_owned() }),
    };
    let len = len.max(HEADER_LEN as u64);
    let found = scan(&file, header, if torn.is_some() { HEADER_LEN as u64 } else { len }).map_err(failed("read"))?;
    let (path_buf, offset, next) = (path.to_owned(), found.end, found.next);
    let torn = match found.flaw {
        None => torn,
        Some(Flaw::TornTail) => Some(cut_tail(path, &file, offset, len).map_err(failed("repair"))?),
        Some(Flaw::Hole { resumes, after }) => {
            return Err(OpenError::Hole { path: path_buf, offset, next, resumes, after });
        }
        Some(Flaw::Disorder { found: seq, epoch }) => {
            return Err(OpenError::Disorder { path: path_buf, offset, next, found: seq, least: found.epoch, epoch });
        }
    };
    file.write_all_at(&header::encode_holder(&holder), HOLDER_AT as u64).map_err(failed("write"))?;
    // What a killed process wrote and did not sync is in the file's cache only: it counts as safe from here on.
    file.sync_data().map_err(failed("sync"))?;
    let recovery = Recovery { first: header.first, next, epoch: found.epoch, torn };
    Ok(Opened { file, end: offset, recovery })
}

/// Only its owner may look into the file: commands and environments are in it.
fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    let file = options.open(path).map_err(|error| match error.raw_os_error() {
        // Two names of one journal would be two journals to those who look for it.
        Some(code) if code == rustix::io::Errno::LOOP.raw_os_error() => {
            io::Error::new(io::ErrorKind::InvalidInput, "it is a symbolic link: name the file itself")
        }
        _ => error,
    })?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    if metadata.mode() & 0o077 != 0 && metadata.uid() == rustix::process::geteuid().as_raw() {
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

fn lock(path: &Path, file: &File) -> Result<(), OpenError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let mut bytes = [0; HEADER_LEN];
            let holder = file.read_exact_at(&mut bytes, 0).ok().and_then(|()| header::decode_holder(&bytes));
            Err(OpenError::Held { path: path.to_owned(), holder })
        }
        Err(TryLockError::Error(source)) => Err(OpenError::Io { action: "lock", path: path.to_owned(), source }),
    }
}

pub(super) fn read_beginning(path: &Path, file: &File) -> Result<Beginning, OpenError> {
    let mut bytes = [0; HEADER_LEN];
    let mut len = 0;
    while len < HEADER_LEN {
        match file.read_at(&mut bytes[len..], len as u64) {
            Ok(0) => break,
            Ok(n) => len += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => return Err(OpenError::Io { action: "read", path: path.to_owned(), source }),
        }
    }
    Ok(header::decode(&bytes[..len]))
}

/// Writes the header, and makes sure that the file is found after a crash of the machine.
fn create(path: &Path, file: &File, header: Header, holder: &Holder) -> io::Result<()> {
    file.write_all_at(&header.encode(holder), 0)?;
    file.sync_all()?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(directory)?.sync_all()
}

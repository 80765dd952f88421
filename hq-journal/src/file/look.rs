//! Reads a file that may be in use.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use hq_core::{Record, Seq};
use rustix::fs::OFlags;

use super::{
    header::{self, Beginning, HEADER_LEN, Header},
    open::read_beginning,
    read::FileRecords,
    scan::{Flaw, scan},
};
use crate::{OpenError, ReadError, Records};

/// The records of a journal file, in order, as far as they are whole when this is called. Takes no lock and changes
/// nothing: a server may work on the file. What a crash left at the end, or what is being written, is passed over.
///
/// The first error is the last item.
///
/// # Errors
/// Where it is no journal that this program can read. An empty file is one without records.
pub fn read_file(path: &Path) -> Result<Records, OpenError> {
    let failed = |action| move |source| OpenError::Io { action, path: path.to_owned(), source };
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    let file = Arc::new(options.open(path).map_err(failed("open"))?);
    let metadata = file.metadata().map_err(failed("read"))?;
    if !metadata.is_file() {
        let source = io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
        return Err(failed("open")(source));
    }
    let header = match read_beginning(path, &file)? {
        Beginning::Whole(header) => header,
        Beginning::Fresh => return Ok(Box::new(std::iter::empty())),
        Beginning::Future(found) => {
            return Err(OpenError::Future { path: path.to_owned(), found, known: header::VERSION });
        }
        Beginning::Damaged => return Err(OpenError::DamagedHeader { path: path.to_owned() }),
        Beginning::Foreign => return Err(OpenError::NotAJournal { path: path.to_owned() }),
    };
    let len = metadata.len().max(HEADER_LEN as u64);
    let records = FileRecords::new(file.clone(), Seq(0), len);
    Ok(Box::new(Whole { records, file, header, len, path: path.to_owned(), over: false }))
}

/// Records up to the torn tail.
struct Whole {
    records: FileRecords,
    file: Arc<File>,
    header: Header,
    len: u64,
    path: PathBuf,
    over: bool,
}

impl Iterator for Whole {
    type Item = Result<(Seq, Record), ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        match self.records.next() {
            Some(Err(ReadError::Damaged { offset })) => {
                self.over = true;
                // Rare, so that it is found out only now what it is.
                match scan(&self.file, self.header, self.len) {
                    Ok(found) if matches!(found.flaw, Some(Flaw::TornTail)) => None,
                    Ok(_) => Some(Err(ReadError::Hole { path: self.path.clone(), offset })),
                    Err(error) => Some(Err(error.into())),
                }
            }
            item => item,
        }
    }
}

//! Group commit: all that is queued becomes one write and one sync.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use hq_core::{Epoch, Seq};

use super::{
    condense::{Exchange, Workshop},
    fresh::Fresh,
    header::{Header, NOTICE_AT, Notice},
    names::Names,
    queue::{Queue, Work},
    segment::{Segment, beside, is_sealed, read_beginning},
};
use crate::{AppendError, CondenseError, Durability, OnDurable, storage::Storage};

/// A buffer that a burst made larger than this is given back.
const KEPT_BYTES: usize = 1 << 20;

/// The thread that writes.
///
/// A sync that failed may have dropped the pages, and a second one would call them safe: what it was to make safe is written
/// to a new file, once. Where that fails too, or anything else, nothing is tried again, and the file is cut back to what is
/// safe, so that nothing which was never acknowledged is found there later.
pub(super) struct Writer {
    pub(super) workshop: Arc<Workshop>,
    pub(super) active: Segment,
    /// Epoch of the last record that is safe.
    pub(super) epoch: Epoch,
    /// Past this length the file is sealed.
    pub(super) seal_at: u64,
}

/// Why another file did not take the place of the active one.
enum Refused {
    /// All is as it was.
    AsBefore(io::Error),
    /// Nobody knows which of the two is found after a crash, or somebody else has the journal.
    Lost(AppendError),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::AsBefore(error)
    }
}

impl Writer {
    /// Writes until the queue is closed or the disk fails.
    pub(super) fn run(mut self) {
        let workshop = self.workshop.clone();
        let guard = FailOnUnwind(&workshop.queue);
        let mut bytes = Vec::new();
        while let Some(work) = workshop.queue.take(&mut bytes) {
            let done = match work {
                Work::Write { last, epoch } => self.commit(&bytes, last, epoch),
                Work::Exchange(exchange) => self.exchange(exchange),
                // A look that fails says nothing: whoever writes next is told.
                Work::Look => self.check_place().or_else(|error| match error {
                    AppendError::TakenOver { .. } => Err(error),
                    _ => Ok(()),
                }),
            };
            if let Err(error) = done {
                workshop.queue.fail(&error);
                let news = if let AppendError::TakenOver { .. } = error {
                    Durability::TakenOver(error.to_string())
                } else {
                    let _ = self.active.file.set_size(self.active.end); // the next opening finds a torn tail else
                    Durability::Failed(error.to_string())
                };
                (workshop.on_durable)(news);
                break;
            }
            if bytes.capacity() > KEPT_BYTES {
                bytes = Vec::new();
            }
        }
        std::mem::forget(guard);
        if workshop.queue.failure().is_none() {
            let notice = Notice::now(self.active.end).encode();
            let _ = self.active.file.write_at(&notice, NOTICE_AT as u64).and_then(|()| self.active.file.sync());
        }
    }

    fn commit(&mut self, bytes: &[u8], last: Seq, epoch: Epoch) -> Result<(), AppendError> {
        let written = self.active.file.write_at(bytes, self.active.end);
        written.map_err(|error| self.failed("write to", &error))?;
        match self.active.file.sync() {
            Ok(()) => self.active.end += bytes.len() as u64,
            Err(error) => self.rescue(bytes, &error)?,
        }
        self.check_place()?;
        (self.active.next, self.epoch) = (last.next(), epoch);
        self.workshop.queue.done(last, self.active.end);
        (self.workshop.on_durable)(Durability::UpTo(last));
        if self.active.end >= self.seal_at && !self.workshop.is_pruning() {
            self.seal()?;
        }
        Ok(())
    }

    fn failed(&self, action: &str, error: &io::Error) -> AppendError {
        AppendError::Failed {
            reason: format!("cannot {action} the journal `{}`: {error}", self.workshop.path.display()),
        }
    }

    /// Nothing is safe in a file that nobody would find.
    fn check_place(&self) -> Result<(), AppendError> {
        let Workshop { storage, path, .. } = &*self.workshop;
        let of_own = self.active.file.identity();
        match storage.identity(path) {
            Ok(there) if of_own.as_ref().is_ok_and(|own| *own == there) => return Ok(()),
            // Only another file under the name is another one's: what cannot be found out is a failure.
            Ok(_) => of_own.map(drop).map_err(|error| self.failed("look at", &error))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let reason = format!("the journal `{}` was moved or removed", path.display());
                return Err(AppendError::Failed { reason });
            }
            Err(error) => return Err(self.failed("look at", &error)),
        }
        let there = storage.open(path, crate::storage::How::Read).ok();
        let notice = there.and_then(|file| read_beginning(path, &*file).ok()?.1);
        Err(AppendError::TakenOver { holder: notice.map(|notice| notice.holder) })
    }

    /// Writes to a new file what a sync may have lost.
    fn rescue(&mut self, bytes: &[u8], why: &io::Error) -> Result<(), AppendError> {
        let again = match self.go_on_in_new(bytes) {
            Ok(()) => {
                let path = self.workshop.path.display();
                let text = format!("the journal `{path}` could not be synced ({why}) and goes on in a new file");
                (self.workshop.on_durable)(Durability::Trouble(text));
                return Ok(());
            }
            Err(Refused::Lost(error)) => return Err(error),
            Err(Refused::AsBefore(again)) => again,
        };
        let AppendError::Failed { reason } = self.failed("sync", why) else { return Ok(()) };
        Err(AppendError::Failed { reason: format!("{reason}, nor go on in a new file: {again}") })
    }

    /// Lets the active file be, and goes on in a new one.
    fn seal(&mut self) -> Result<(), AppendError> {
        match self.go_on_in_new(&[]) {
            Ok(()) => {
                self.seal_at = self.workshop.segment_bytes;
                Workshop::compact_if_it_pays(&self.workshop);
                Ok(())
            }
            Err(Refused::Lost(error)) => Err(error),
            Err(Refused::AsBefore(error)) => {
                self.seal_at = self.active.end.saturating_add(self.workshop.segment_bytes);
                let path = self.workshop.path.display();
                let text = format!("the journal `{path}` goes on in one file, as none can be put beside it: {error}");
                (self.workshop.on_durable)(Durability::Trouble(text));
                Ok(())
            }
        }
    }

    /// Puts a new file that begins with these frames in the place of the active one.
    fn go_on_in_new(&mut self, frames: &[u8]) -> Result<(), Refused> {
        let header = Header::new(self.active.next, self.epoch);
        let names = self.names()?;
        let mut fresh = Fresh::create(&names, "next", header)?;
        fresh.write(frames)?;
        fresh.finish(false)?;
        self.replace(&names, fresh, header)
    }

    /// The right to change names, while the journal is ours.
    fn names(&self) -> Result<Names, Refused> {
        let names = Names::hold(&self.workshop.storage, &self.workshop.path)?;
        self.check_place().map_err(Refused::Lost)?;
        Ok(names)
    }

    /// Puts a file that goes on after the active one in its place; that one stays under a name of its own, if it has records.
    fn replace(&mut self, names: &Names, fresh: Fresh, header: Header) -> Result<(), Refused> {
        let Workshop { storage, path, .. } = &*self.workshop;
        let name = beside(path, self.active.header.first);
        let has_records = self.active.header.first < header.first;
        let keep_old = || -> io::Result<()> {
            if has_records {
                self.make_room(&name)?;
                storage.link(path, &name)?;
                storage.sync_dir(path)?;
            }
            Ok(())
        };
        if let Err(error) = keep_old() {
            fresh.discard();
            return Err(error.into());
        }
        fresh.rename(names, path)?;
        storage.sync_dir(path).map_err(|error| Refused::Lost(self.failed("sync the directory of", &error)))?;
        let next =
            Segment { path: path.clone(), file: fresh.file().clone(), header, end: fresh.end(), next: header.first };
        let old = std::mem::replace(&mut self.active, next.clone());
        if has_records {
            // Only lets it be tidied away later: not worth an error, nor a wait.
            let _ = old.file.write_at(&Notice::sealed(old.end).encode(), NOTICE_AT as u64);
        }
        self.workshop.queue.set_layout(|layout| {
            if has_records {
                layout.sealed.push(Segment { path: name, ..old });
            }
            layout.active = next;
        });
        Ok(())
    }

    /// Removes what an earlier attempt has left under that name.
    fn make_room(&self, name: &Path) -> io::Result<()> {
        let storage = &self.workshop.storage;
        let Ok(there) = storage.identity(name) else { return Ok(()) };
        if there == self.active.file.identity()? || is_sealed(&**storage, name) {
            return storage.remove(name);
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("`{}` is in the way", name.display())))
    }

    /// Lets what stands for all records up to a place take the place of the active file, with what has come since.
    fn exchange(&mut self, exchange: Box<Exchange>) -> Result<(), AppendError> {
        let Exchange { mut fresh, header, mut upto, answer } = *exchange;
        let Workshop { storage, path, queue, .. } = &*self.workshop;
        if !Arc::ptr_eq(&upto.file, &self.active.file) {
            let _ = answer.send(Err(None)); // sealed meanwhile
            fresh.discard();
            return Ok(());
        }
        let mut take_over = || -> Result<Names, Refused> {
            fresh.catch_up(&mut upto, self.active.end)?;
            let names = self.names()?;
            fresh.rename(&names, path)?;
            let synced = storage.sync_dir(path);
            synced.map_err(|error| Refused::Lost(self.failed("sync the directory of", &error)))?;
            Ok(names)
        };
        match take_over() {
            Ok(_names) => {
                let (file, end) = (fresh.file().clone(), fresh.end());
                self.active = Segment { path: path.clone(), file, header, end, next: self.active.next };
                let mut sealed = Vec::new();
                queue.set_layout(|layout| {
                    sealed = std::mem::take(&mut layout.sealed);
                    layout.active = self.active.clone();
                });
                sealed.iter().for_each(|segment| _ = storage.remove(&segment.path));
                self.seal_at = self.workshop.segment_bytes.max(end.saturating_mul(2));
                let _ = answer.send(Ok(end));
                Ok(())
            }
            Err(Refused::AsBefore(error)) => {
                fresh.discard();
                let _ = answer.send(Err(Some(CondenseError::Io(error.to_string()))));
                Ok(())
            }
            Err(Refused::Lost(error)) => Err(error),
        }
    }
}

/// Nobody must wait for a thread that a panic of the callback has ended.
struct FailOnUnwind<'a>(&'a Queue);

impl Drop for FailOnUnwind<'_> {
    fn drop(&mut self) {
        let reason = "the thread that writes the journal has died".to_owned();
        self.0.fail(&AppendError::Failed { reason });
    }
}

/// The parts of a journal that its threads share.
impl Workshop {
    pub(super) fn new(
        storage: Arc<dyn Storage>,
        path: PathBuf,
        queue: Queue,
        on_durable: OnDurable,
        options: &super::FileOptions,
    ) -> Self {
        Self {
            storage,
            path,
            queue,
            on_durable,
            condenser: options.condenser,
            segment_bytes: options.segment_bytes,
            busy: Default::default(),
            pruning: Default::default(),
            threads: Default::default(),
        }
    }
}

//! Makes a journal smaller, beside the thread that writes: reads all of its files, lets a [`Condense`](crate::Condense)
//! boil the records down, and puts the outcome in their place.

use std::{
    io,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
};

use hq_core::{Epoch, Seq};

use super::{
    frame,
    fresh::Fresh,
    header::{Header, VERSION},
    names::Names,
    queue::Queue,
    read::FileRecords,
    segment::{Layout, Segment, beside},
};
use crate::{CondenseError, Condensed, Condenser, Durability, Keep, OnCondensed, OnDurable, storage::Storage};

/// What the threads of a journal share.
pub(super) struct Workshop {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) path: PathBuf,
    pub(super) queue: Queue,
    pub(super) on_durable: OnDurable,
    pub(super) condenser: Option<Condenser>,
    pub(super) segment_bytes: u64,
    /// Held by the one who condenses.
    pub(super) busy: Mutex<()>,
    /// The active file is being condensed as well, and must not be sealed.
    pub(super) pruning: AtomicBool,
    pub(super) threads: Mutex<Vec<JoinHandle<()>>>,
}

/// A file that is to take the place of the active one.
pub(super) struct Exchange {
    pub(super) fresh: Fresh,
    pub(super) header: Header,
    /// The active file as far as it has been condensed.
    pub(super) upto: Segment,
    /// Hears the length; no error where it is worth another try.
    pub(super) answer: mpsc::Sender<Result<u64, Option<CondenseError>>>,
}

/// Attempts that meet a file which is sealed at that moment.
const ATTEMPTS: u32 = 10;

/// What is copied in no time, in bytes.
const LITTLE: u64 = 1 << 20;

/// Those that wait for each other.
const THREADS_MAX: usize = 8;

impl Workshop {
    pub(super) fn is_pruning(&self) -> bool {
        self.pruning.load(Ordering::Acquire)
    }

    /// Condenses all that was appended before, on a thread of its own.
    pub(super) fn prune(this: &Arc<Self>, keep: Keep, done: OnCondensed) {
        let shop = this.clone();
        let last = this.queue.last();
        let slot = Arc::new(Mutex::new(Some(done)));
        let done = slot.clone();
        let tell = |slot: &Mutex<Option<OnCondensed>>, result| {
            if let Some(done) = slot.lock().unwrap_or_else(PoisonError::into_inner).take() {
                done(result);
            }
        };
        let work = move || {
            let _busy = shop.busy.lock().unwrap_or_else(PoisonError::into_inner);
            shop.queue.wait_for(last);
            shop.pruning.store(true, Ordering::Release);
            let result = shop.condense_all(keep);
            shop.pruning.store(false, Ordering::Release);
            tell(&done, result);
        };
        if let Err(error) = this.spawn(work) {
            tell(&slot, Err(CondenseError::Io(error.to_string())));
        }
    }

    /// Condenses the sealed files, if as much has been added to what was left the last time.
    pub(super) fn compact_if_it_pays(this: &Arc<Self>) {
        let sealed = this.queue.layout().sealed;
        let bytes = |segments: &[Segment]| segments.iter().map(|segment| segment.end).sum::<u64>();
        let condensed = sealed.iter().take_while(|segment| segment.header.until > Seq(0)).count();
        let (old, new) = sealed.split_at(condensed);
        if this.condenser.is_none() || bytes(new) < bytes(old) {
            return;
        }
        let shop = this.clone();
        let work = move || {
            let Ok(_busy) = shop.busy.try_lock() else { return };
            match shop.condense_sealed() {
                Ok(()) | Err(CondenseError::Ending) => {}
                Err(error) => (shop.on_durable)(Durability::Trouble(error.to_string())),
            }
        };
        if let Err(error) = this.spawn(work) {
            (this.on_durable)(Durability::Trouble(format!("the journal cannot be made smaller: {error}")));
        }
    }

    fn spawn(&self, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.retain(|thread| !thread.is_finished());
        if threads.len() >= THREADS_MAX {
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, "others are at it"));
        }
        threads.push(thread::Builder::new().name("hq-condense".to_owned()).spawn(work)?);
        Ok(())
    }

    /// Waits until nobody condenses any more.
    pub(super) fn join(&self) {
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        threads.into_iter().for_each(|thread| _ = thread.join());
    }

    fn condense_all(&self, keep: Keep) -> Result<Condensed, CondenseError> {
        for _ in 0..ATTEMPTS {
            if self.queue.is_ending() {
                return Err(CondenseError::Ending);
            }
            let layout = self.queue.layout();
            let before = layout.segments().map(|segment| segment.end).sum();
            let mut upto = layout.active.clone();
            let Some((mut fresh, header)) = self.digest(layout, keep, "prune")? else {
                return Ok(Condensed { before, after: before });
            };
            if let Err(error) = self.catch_up(&mut fresh, &mut upto) {
                fresh.discard();
                return Err(CondenseError::Io(error.to_string()));
            }
            let (answer, heard) = mpsc::channel();
            if let Err(exchange) = self.queue.exchange(Box::new(Exchange { fresh, header, upto, answer })) {
                exchange.fresh.discard();
                return Err(CondenseError::Ending);
            }
            match heard.recv() {
                Ok(Ok(after)) => return Ok(Condensed { before, after }),
                Ok(Err(Some(error))) => return Err(error),
                Ok(Err(None)) => {}
                Err(_) => return Err(CondenseError::Ending),
            }
        }
        Err(CondenseError::Io("it is sealed all the time".to_owned()))
    }

    /// Copies what has come meanwhile, until it is so little that whoever appends need not feel the rest.
    fn catch_up(&self, fresh: &mut Fresh, upto: &mut Segment) -> io::Result<()> {
        for _ in 0..ATTEMPTS {
            let active = self.queue.layout().active;
            if !Arc::ptr_eq(&upto.file, &active.file) || active.end - upto.end < LITTLE {
                break;
            }
            fresh.catch_up(upto, active.end)?;
        }
        Ok(())
    }

    /// The right to change names, while the journal is ours.
    fn names(&self) -> Result<Names, CondenseError> {
        let names = Names::hold(&self.storage, &self.path).map_err(|error| CondenseError::Io(error.to_string()))?;
        if names.is_active(&*self.queue.layout().active.file) { Ok(names) } else { Err(CondenseError::Ending) }
    }

    fn condense_sealed(&self) -> Result<(), CondenseError> {
        let mut sealed = self.queue.layout().sealed;
        let count = sealed.len();
        let Some(last) = sealed.pop() else { return Ok(()) };
        let (first, next) = (sealed.first().unwrap_or(&last).header.first, last.next);
        let names: Vec<PathBuf> = sealed.iter().chain([&last]).skip(1).map(|segment| segment.path.clone()).collect();
        let Some((mut fresh, header)) = self.digest(Layout { sealed, active: last }, Keep::All, "compact")? else {
            return Ok(());
        };
        let path = beside(&self.path, first);
        let mut put = || {
            fresh.finish(true).map_err(io_error)?;
            let names = self.names()?;
            fresh.put_at(&names, &path).map_err(io_error)?;
            Ok(names)
        };
        let _names = match put() {
            Ok(names) => names,
            Err(error) => {
                fresh.discard();
                return Err(error);
            }
        };
        let segment = Segment { path, file: fresh.file().clone(), header, end: fresh.end(), next };
        self.queue.set_layout(|layout| {
            layout.sealed.drain(..count.min(layout.sealed.len()));
            layout.sealed.insert(0, segment);
        });
        names.iter().for_each(|name| _ = self.storage.remove(name));
        Ok(())
    }

    /// What stands for these files, in a new one; none where it would not be less.
    fn digest(&self, layout: Layout, keep: Keep, suffix: &str) -> Result<Option<(Fresh, Header)>, CondenseError> {
        let mut condense = self.condenser.ok_or(CondenseError::NotKnown)?(keep);
        let (first, until) = (layout.first(), layout.active.next);
        let mut epoch = Epoch(0);
        let mut batches = FileRecords::new(layout, Seq(0));
        while let Some((of_batch, batch)) =
            batches.next_batch().map_err(|error| CondenseError::Io(error.to_string()))?
        {
            if self.queue.is_ending() {
                return Err(CondenseError::Ending);
            }
            epoch = of_batch;
            for (seq, record) in batch {
                condense.take(seq, record).map_err(CondenseError::History)?;
            }
        }
        let records = condense.finish();
        let count = records.len() as u64;
        // Numbers are given for good: so many records have to have been there.
        if count == 0 || count > until.0 - first.0 {
            return Ok(None);
        }
        let header = Header { version: VERSION, first, epoch: Epoch(0), until };
        let mut fresh = Fresh::create(&self.names()?, suffix, header).map_err(io_error)?;
        let mut bytes = Vec::new();
        for (n, record) in (1..).zip(&records) {
            if self.queue.is_ending() {
                fresh.discard();
                return Err(CondenseError::Ending);
            }
            // The last one has the last number, so that what follows joins on.
            let seq = if n == count { until.0 - 1 } else { first.0 + n - 1 };
            bytes.clear();
            let encoded = frame::encode(&mut bytes, epoch, Seq(seq), std::slice::from_ref(record));
            encoded.map_err(|error| CondenseError::Io(error.to_string()))?;
            fresh.write(&bytes).map_err(io_error)?;
        }
        Ok(Some((fresh, header)))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "as `map_err` gives it")]
fn io_error(error: io::Error) -> CondenseError {
    CondenseError::Io(error.to_string())
}

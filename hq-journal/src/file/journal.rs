use std::{
    path::{Path, PathBuf},
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use hq_core::{Epoch, Record, Seq};

use super::{
    commit::Writer,
    condense::Workshop,
    open::{self, Recovery},
    queue::Queue,
    read::FileRecords,
};
use crate::{
    AppendError, CloseError, Condenser, Holder, Journal, Keep, OnCondensed, OnDurable, OpenError, ReadError, Records,
    Urgency,
    storage::{Files, Storage},
};

/// How a file is written.
#[derive(Clone, Copy, Debug)]
pub struct FileOptions {
    /// The longest age of an unsynced record that nobody waits for.
    pub flush_period: Duration,
    /// So much may be queued for the disk before [`Journal::append`] waits for it. A single batch may be larger.
    pub queue_bytes: usize,
    /// A file that is as long is sealed, and a new one begun.
    pub segment_bytes: u64,
    /// What boils records down; without it nothing is ever left out.
    pub condenser: Option<Condenser>,
    /// How often it is found out whether another process has taken the journal, where nothing is written.
    pub look_period: Duration,
    /// Takes the journal from a process that has it open.
    pub takeover: bool,
}

/// 20 ms, 64 MiB, 64 MiB, nothing left out, a look each 5 s, not taken from anybody.
impl Default for FileOptions {
    fn default() -> Self {
        Self {
            flush_period: Duration::from_millis(20),
            queue_bytes: 64 << 20,
            segment_bytes: 64 << 20,
            condenser: None,
            look_period: Duration::from_secs(5),
            takeover: false,
        }
    }
}

/// A journal in files, locked while it is open: `FILE`, and once that is long, sealed ones named `FILE.1` and so on by their
/// first record. A thread of its own writes and syncs; another one condenses sealed files when that pays.
///
/// Dropping it makes safe what was appended, as [`Journal::close`] does.
pub struct FileJournal {
    workshop: Arc<Workshop>,
    next: Seq,
    epoch: Epoch,
    thread: Option<JoinHandle<()>>,
}

impl FileJournal {
    /// Opens the journal at `path`, or makes one there, readable by its owner only. What it holds is safe, and can be
    /// read; a tail that a crash left behind is moved to `FILE.bad`, which [`Recovery::torn`] tells.
    ///
    /// All of it is checked, in time that follows its length and memory that follows its largest batch.
    ///
    /// # Errors
    /// Where it is in use, is no journal, is damaged elsewhere than at its end, or is of a later format. It stays as
    /// it was. A link at `path` is not followed.
    pub fn open(
        path: impl AsRef<Path>,
        options: FileOptions,
        on_durable: OnDurable,
    ) -> Result<(Self, Recovery), OpenError> {
        Self::open_on(Arc::new(Files), path, options, on_durable)
    }

    /// The same on another file system.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_on(
        storage: Arc<dyn Storage>,
        path: impl AsRef<Path>,
        options: FileOptions,
        on_durable: OnDurable,
    ) -> Result<(Self, Recovery), OpenError> {
        let path: PathBuf = path.as_ref().to_owned();
        let opened = open::open(&storage, &path, &options)?;
        let (recovery, active) = (opened.recovery, opened.layout.active.clone());
        let epoch = recovery.epoch;
        let queue = Queue::new(opened.layout, epoch, options.queue_bytes, options.flush_period, options.look_period);
        let workshop = Arc::new(Workshop::new(storage, path.clone(), queue, on_durable, &options));
        let writer = Writer { workshop: workshop.clone(), active, epoch, seal_at: options.segment_bytes };
        let thread = thread::Builder::new().name("hq-journal".to_owned()).spawn(|| writer.run());
        let thread = thread.map_err(|source| OpenError::Io { action: "start the thread of", path, source })?;
        Ok((Self { workshop, next: recovery.next, epoch, thread: Some(thread) }, recovery))
    }

    fn finish(&mut self) -> Result<(), CloseError> {
        self.workshop.queue.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic of it has failed the queue
        }
        self.workshop.join();
        // Nobody works on the files any more, and the next one need not wait for readers that still have this one open.
        self.workshop.queue.layout().active.file.unlock();
        self.workshop.queue.failure().map_or(Ok(()), |error| Err(CloseError { reason: error.to_string() }))
    }
}

impl Journal for FileJournal {
    fn append(&mut self, epoch: Epoch, first: Seq, records: &[Record], urgency: Urgency) -> Result<(), AppendError> {
        if let Some(error) = self.workshop.queue.failure() {
            return Err(error);
        }
        if epoch < self.epoch || first != self.next {
            let (holder, next) = (Holder::this_process(), self.next);
            return Err(AppendError::Fenced { holder, epoch: self.epoch, next, old: epoch, first });
        }
        if records.is_empty() {
            return Ok(());
        }
        self.workshop.queue.push(epoch, first, records, urgency)?;
        self.epoch = epoch;
        self.next = Seq(first.0.saturating_add(records.len() as u64));
        Ok(())
    }

    fn durable(&self) -> Seq {
        self.workshop.queue.durable()
    }

    fn read(&self, from: Seq) -> Records {
        let from = from.max(Seq(1));
        let layout = self.workshop.queue.layout();
        let first = layout.first();
        if from < first {
            return Box::new(std::iter::once(Err(ReadError::Retired { from, first })));
        }
        Box::new(FileRecords::new(layout, from))
    }

    /// Nothing goes by its number: see [`condense`](Journal::condense).
    fn retire(&mut self, _: Seq) {}

    fn condense(&mut self, keep: Keep, done: OnCondensed) {
        Workshop::prune(&self.workshop, keep, done);
    }

    fn close(mut self: Box<Self>) -> Result<(), CloseError> {
        self.finish()
    }
}

impl Drop for FileJournal {
    fn drop(&mut self) {
        let _ = self.finish(); // who wants to know calls `close`
    }
}

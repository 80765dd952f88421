use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use hq_core::{Epoch, Record, Seq};

use super::{
    commit,
    open::{self, Recovery},
    queue::{Durable, Queue},
    read::FileRecords,
};
use crate::{AppendError, CloseError, Holder, Journal, OnDurable, OpenError, ReadError, Records, Urgency};

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOptions {
    /// The longest age of an unsynced record that nobody waits for.
    pub flush_period: Duration,
    /// So much may be queued for the disk before [`Journal::append`] waits for it. A single batch may be larger.
    pub queue_bytes: usize,
}

/// 20 ms, 64 MiB.
impl Default for FileOptions {
    fn default() -> Self {
        Self { flush_period: Duration::from_millis(20), queue_bytes: 64 << 20 }
    }
}

/// A journal in a file, which is locked while it is open. A thread of its own writes and syncs.
///
/// Dropping it makes safe what was appended, as [`Journal::close`] does.
pub struct FileJournal {
    file: Arc<File>,
    first: Seq,
    next: Seq,
    epoch: Epoch,
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
}

impl FileJournal {
    /// Opens the journal at `path`, or makes one there, readable by its owner only. What it holds is safe, and can be
    /// read; a tail that a crash left behind is moved to `FILE.bad`, which [`Recovery::torn`] tells.
    ///
    /// All of the file is checked, in time that follows its length and memory that follows its largest batch.
    ///
    /// # Errors
    /// Where the file is in use, is no journal, is damaged elsewhere than at its end, or is of a later format. It stays as
    /// it was. A link at `path` is not followed.
    pub fn open(
        path: impl AsRef<Path>,
        options: FileOptions,
        on_durable: OnDurable,
    ) -> Result<(Self, Recovery), OpenError> {
        let path: PathBuf = path.as_ref().to_owned();
        let opened = open::open(&path)?;
        let recovery = opened.recovery;
        let durable = Durable { seq: Seq(recovery.next.0 - 1), end: opened.end };
        let queue = Arc::new(Queue::new(durable, options.queue_bytes, options.flush_period));
        let thread = spawn(queue.clone(), opened.file.clone(), path.clone(), on_durable);
        let thread = thread.map_err(|source| OpenError::Io { action: "start the thread of", path, source })?;
        let journal = Self {
            file: opened.file,
            first: recovery.first,
            next: recovery.next,
            epoch: recovery.epoch,
            queue,
            thread: Some(thread),
        };
        Ok((journal, recovery))
    }

    fn finish(&mut self) -> Result<(), CloseError> {
        self.queue.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic of it has failed the queue
        }
        self.queue.failure().map_or(Ok(()), |reason| Err(CloseError { reason }))
    }
}

fn spawn(queue: Arc<Queue>, file: Arc<File>, path: PathBuf, on_durable: OnDurable) -> io::Result<JoinHandle<()>> {
    let run = move || commit::run(&queue, &file, &path, &on_durable);
    thread::Builder::new().name("hq-journal".to_owned()).spawn(run)
}

impl Journal for FileJournal {
    fn append(&mut self, epoch: Epoch, first: Seq, records: &[Record], urgency: Urgency) -> Result<(), AppendError> {
        if let Some(reason) = self.queue.failure() {
            return Err(AppendError::Failed { reason });
        }
        if epoch < self.epoch || first != self.next {
            let (holder, next) = (Holder::this_process(), self.next);
            return Err(AppendError::Fenced { holder, epoch: self.epoch, next, old: epoch, first });
        }
        if records.is_empty() {
            return Ok(());
        }
        self.queue.push(epoch, first, records, urgency)?;
        self.epoch = epoch;
        self.next = Seq(first.0.saturating_add(records.len() as u64));
        Ok(())
    }

    fn durable(&self) -> Seq {
        self.queue.durable().seq
    }

    fn read(&self, from: Seq) -> Records {
        let from = from.max(Seq(1));
        if from < self.first {
            return Box::new(std::iter::once(Err(ReadError::Retired { from, first: self.first })));
        }
        Box::new(FileRecords::new(self.file.clone(), from, self.queue.durable().end))
    }

    /// The one file there is stays whole.
    fn retire(&mut self, _: Seq) {}

    fn close(mut self: Box<Self>) -> Result<(), CloseError> {
        self.finish()
    }
}

impl Drop for FileJournal {
    fn drop(&mut self) {
        let _ = self.finish(); // who wants to know calls `close`
    }
}

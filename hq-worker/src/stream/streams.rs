use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, OnceLock, PoisonError},
    thread,
    time::Duration,
};

use hq_core::{JobId, RunId, TaskRun};
use hq_stream::Head;

use super::{
    Feed,
    directory::Directory,
    ears::Ears,
    live::LivePump,
    queue::{Command, Queue},
};
use crate::EndSink;

/// Directories that are remembered, so that a later task goes on with the same file.
const KNOWN_MAX: usize = 10_000;
/// Name of the threads that write files.
pub(super) const THREAD: &str = "hq-stream";
/// How long files are waited for when the worker goes.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// The stream files of a worker: one per directory.
///
/// Dropped, it waits until all that runs printed is in the files, up to 5 seconds.
#[derive(Default)]
pub(crate) struct Streams {
    directories: Mutex<HashMap<PathBuf, Arc<Directory>>>,
    office: Arc<Office>,
}

/// What the threads that write files have in common.
#[derive(Default)]
pub(super) struct Office {
    count: Mutex<usize>,
    changed: Condvar,
    kill: OnceLock<Box<dyn Fn(RunId) + Send + Sync>>,
    pub(super) ears: Ears,
    /// The thread for output that goes into no file.
    live: OnceLock<Arc<Queue>>,
}

impl Streams {
    /// From now on, `kill` ends a run whose output cannot be written.
    pub(crate) fn kill_by(&self, kill: impl Fn(RunId) + Send + Sync + 'static) {
        let _ = self.office.kill.set(Box::new(kill));
    }

    /// A run whose output goes into the file of this directory, which exists when this returns.
    ///
    /// # Errors
    /// Says what could not be made.
    pub(crate) fn join(
        &self,
        path: &Path,
        head: &Head,
        run: Names,
        sink: Option<Arc<dyn EndSink>>,
    ) -> Result<Feed, String> {
        let directory = self.directory(path);
        let error = |error| format!("cannot create a stream file in `{}`: {error}", path.display());
        directory.join(head, run, sink, &self.office).map_err(error)
    }

    /// A run whose output goes to those who listen, and nowhere else.
    ///
    /// # Errors
    /// Says what the system does not give.
    pub(crate) fn join_live(&self, run: Names, sink: Option<Arc<dyn EndSink>>) -> Result<Feed, String> {
        let queue = match self.office.live.get() {
            Some(queue) => queue.clone(),
            None => self.start_live().map_err(|error| format!("cannot read the output of the task: {error}"))?,
        };
        Ok(Feed::new(queue.join(), run, sink, queue))
    }

    fn start_live(&self) -> io::Result<Arc<Queue>> {
        let _one_at_a_time = self.directories.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = self.office.live.get() {
            return Ok(queue.clone());
        }
        let queue = Arc::new(Queue::new()?);
        let (pump, mark) = (LivePump::new(queue.clone(), self.office.clone()), self.office.one_more());
        let body = move || {
            pump.run();
            drop(mark);
        };
        thread::Builder::new().name(THREAD.to_owned()).spawn(body)?;
        let _ = self.office.live.set(queue.clone());
        Ok(queue)
    }

    /// A run is told to end. Its process may have ended before, and what it printed wait for who listens: not any more.
    pub(crate) fn stop(&self, run: RunId) {
        if let Some(queue) = self.office.live.get() {
            queue.put(Command::Stop { run });
        }
    }

    /// Somebody listens to what runs of a job print: so many more pieces may be sent, in this session and no other. None:
    /// nobody does any more.
    pub(crate) fn listen(&self, job: JobId, session: u64, credit: Option<u32>) {
        self.office.ears.listen(job, session, credit);
        if let Some(queue) = self.office.live.get() {
            queue.wake();
        }
    }

    fn directory(&self, path: &Path) -> Arc<Directory> {
        let mut directories = self.directories.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(directory) = directories.get(path) {
            return directory.clone();
        }
        if directories.len() >= KNOWN_MAX {
            directories.retain(|_, directory| directory.is_active());
        }
        let directory = Arc::new(Directory::new(path.to_owned()));
        directories.insert(path.to_owned(), directory.clone());
        directory
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        let directories = std::mem::take(&mut *self.directories.lock().unwrap_or_else(PoisonError::into_inner));
        directories.values().for_each(|directory| directory.close());
        if let Some(queue) = self.office.live.get() {
            queue.close();
        }
        // A `Done` may drop the last owner on one of the threads themselves.
        if thread::current().name() != Some(THREAD) && !self.office.wait_for_none(LAST_WAIT) {
            tracing::warn!("a stream file takes no more output; the last of it is lost");
        }
    }
}

/// The names of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    /// Inside the engine.
    pub(crate) id: RunId,
    /// In the file.
    pub(crate) run: TaskRun,
}

/// Stands for one thread.
pub(super) struct One(Arc<Office>);

impl Office {
    /// Ends a run.
    pub(super) fn kill(&self, run: RunId) {
        if let Some(kill) = self.kill.get() {
            kill(run);
        }
    }

    pub(super) fn one_more(self: &Arc<Self>) -> One {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        One(self.clone())
    }

    fn wait_for_none(&self, limit: Duration) -> bool {
        let count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(count, limit, |count| *count > 0);
        let (count, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *count == 0
    }
}

impl Drop for One {
    fn drop(&mut self) {
        *self.0.count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.changed.notify_all();
    }
}

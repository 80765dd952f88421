use std::{
    collections::VecDeque,
    io,
    os::fd::OwnedFd,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    thread::{self, JoinHandle},
};

use hq_core::{Outcome, RunId};
use hq_node::StopHow;
use rustix::event::{EventfdFlags, eventfd};

use super::{Child, Launcher, ProcessEnd, spawner, sys::Guardian, tree};
use crate::{Done, runner::Running};

/// Something that is carried out by one process.
pub(crate) trait Task: Send + Sized + 'static {
    /// What is kept while the process runs.
    type Live: Send + 'static;

    /// Its run.
    fn run(&self) -> RunId;

    /// Starts the process. May wait for files.
    fn launch(self, launcher: &mut Launcher) -> Result<(Child, Self::Live), (Done, Outcome)>;

    /// It will not be started after all.
    fn give_up(self) -> Done;

    /// The process has ended: tidies up and says how the run ended.
    fn finish(live: Self::Live, end: ProcessEnd) -> (Done, Outcome);
}

/// A fixed set of threads that start processes and reap them.
///
/// A thread waits for its processes and for new tasks at the same time (epoll over pidfds and an eventfd), so that a
/// short task costs two changes of thread. Dropping it kills what still runs, reaps it, and joins the threads.
pub(crate) struct Supervisor<T: Task> {
    shared: Arc<Shared<T>>,
    threads: Vec<JoinHandle<()>>,
}

/// What the threads have in common.
pub(super) struct Shared<T> {
    pub(super) guardian: Arc<Guardian>,
    pub(super) queue: Mutex<VecDeque<T>>,
    /// A semaphore: one count per task in the queue.
    pub(super) work: OwnedFd,
    /// Readable once the supervisor goes.
    pub(super) closing: OwnedFd,
    pub(super) runs: Running<Slot>,
}

/// A run from its order to its end.
#[derive(Debug)]
pub(super) enum Slot {
    /// In the queue or being started, and told to end meanwhile.
    Waiting(Option<StopHow>),
    /// It has a process, not yet reaped.
    Running {
        /// The group.
        pid: i32,
        /// It was told to end, so that nothing of its tree may be left.
        stopped: bool,
    },
}

impl<T: Task> Supervisor<T> {
    /// Starts `threads` threads (at least 1) and a guardian.
    ///
    /// # Errors
    /// When the system gives no process, thread or descriptor.
    pub(crate) fn new(threads: usize) -> io::Result<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let shared = Arc::new(Shared {
            guardian: Arc::new(Guardian::start()?),
            queue: Mutex::default(),
            work: eventfd(0, flags | EventfdFlags::SEMAPHORE)?,
            closing: eventfd(0, flags)?,
            runs: Running::default(),
        });
        let mut supervisor = Self { shared, threads: vec![] };
        for n in 0..threads.max(1) {
            let (shared, (sender, ready)) = (supervisor.shared.clone(), mpsc::channel());
            let body = move || spawner::serve(&shared, &sender);
            supervisor.threads.push(thread::Builder::new().name(format!("hq-spawn-{n}")).spawn(body)?);
            ready.recv().unwrap_or_else(|_| Err(io::Error::other("a thread ended at once")))?;
        }
        Ok(supervisor)
    }

    /// Starts a task soon.
    pub(crate) fn start(&self, task: T) {
        self.shared.runs.lock().insert(task.run(), Slot::Waiting(None));
        self.shared.queue().push_back(task);
        add_one(&self.shared.work);
    }

    /// Ends a run, if it has not ended.
    pub(crate) fn stop(&self, run: RunId, how: StopHow) {
        // The lock is held while signals are sent: a process is reaped only after its slot is gone, so that the number
        // cannot have passed to another one.
        if let Some(slot) = self.shared.runs.lock().get_mut(&run) {
            slot.stop(how);
        }
    }
}

impl Slot {
    pub(super) fn stop(&mut self, how: StopHow) {
        match self {
            Self::Waiting(Some(StopHow::Kill)) => {}
            Self::Waiting(wish) => *wish = Some(how),
            Self::Running { pid, stopped } => {
                *stopped = true;
                match how {
                    StopHow::Interrupt => tree::interrupt(*pid),
                    // The rest of the tree goes when the leader is reaped.
                    StopHow::Kill => tree::kill_group(*pid),
                }
            }
        }
    }
}

impl<T> Shared<T> {
    pub(super) fn queue(&self) -> MutexGuard<'_, VecDeque<T>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds one to an eventfd.
fn add_one(eventfd: &OwnedFd) {
    // It fails only where the count is at its end, and then the descriptor is readable anyway.
    let _ = rustix::io::write(eventfd, &1u64.to_ne_bytes());
}

impl<T: Task> Drop for Supervisor<T> {
    fn drop(&mut self) {
        let waiting = std::mem::take(&mut *self.shared.queue());
        for task in waiting {
            self.shared.runs.lock().remove(&task.run());
            task.give_up().end(Outcome::Killed);
        }
        for slot in self.shared.runs.lock().values_mut() {
            slot.stop(StopHow::Kill);
        }
        add_one(&self.shared.closing);
        for thread in self.threads.drain(..) {
            // A `Done` may drop the last owner on one of the threads themselves.
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

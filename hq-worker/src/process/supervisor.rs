use std::{
    collections::VecDeque,
    io,
    os::fd::OwnedFd,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
};

use hq_core::{Outcome, RunId};
use hq_node::StopHow;
use rustix::event::{EventfdFlags, eventfd};

use super::{
    Child, Launcher, Live, Mark, ProcessEnd,
    adoption::Adoption,
    signal, spawner,
    sweeper::{Sweeper, Sweeps},
    sys::{Guardian, Ledger},
};
use crate::{Done, runner::Running, stream::Watcher};

/// Something that is carried out by one process.
pub(crate) trait Task: Send + Sized + 'static {
    /// What is kept while the process runs.
    type Live: Send + 'static;
    /// An end that is to be told.
    type End;

    /// Its run.
    fn run(&self) -> RunId;

    /// Starts the process. May wait for files.
    fn launch(self, launcher: &mut Launcher) -> Result<(Child, Self::Live), Self::End>;

    /// Who may notice the end of the process; none: whoever started it.
    fn watcher(live: &Self::Live) -> Option<Watcher>;

    /// It will not be started after all.
    fn give_up(self) -> Done;

    /// The process has ended, by itself or because it was told to (`how`): tidies up and says how the run ended.
    fn finish(live: Self::Live, end: ProcessEnd, how: Option<StopHow>) -> Self::End;

    /// Tells it.
    fn tell(end: Self::End);
}

/// A fixed set of threads that start processes and reap them, and one that ends their trees.
///
/// A thread waits for its processes and for new tasks at the same time (epoll over pidfds and an eventfd), so that a
/// short task costs two changes of thread. Dropping it kills what still runs, reaps it, and joins the threads.
pub(crate) struct Supervisor<T: Task> {
    shared: Arc<Shared<T>>,
    spawners: Vec<JoinHandle<()>>,
    sweeper: Option<JoinHandle<()>>,
    _adoption: Adoption,
}

/// What the threads have in common.
pub(super) struct Shared<T: Task> {
    pub(super) ledger: Arc<Ledger>,
    queue: Mutex<VecDeque<Work<T>>>,
    /// A semaphore: one count per piece of work in the queue.
    pub(super) work: OwnedFd,
    /// Readable once the supervisor goes.
    pub(super) closing: OwnedFd,
    pub(super) runs: Running<Slot>,
    sweeps: Mutex<Sweeps<T>>,
    /// Readable when there may be something in `sweeps`.
    pub(super) sweep: OwnedFd,
    /// Runs that have been handed to the sweeper and that no thread has taken back, and those whose end another thread
    /// notices.
    pub(super) ending: AtomicUsize,
    /// Threads that start processes.
    pub(super) spawners: AtomicUsize,
    /// The supervisor goes.
    pub(super) is_closing: AtomicBool,
}

/// What a thread can do.
pub(super) enum Work<T: Task> {
    Start(T),
    /// The tree of the run is gone: reap its leader and tell its end.
    Finish(Live<T>),
}

/// A run from its order to its end.
#[derive(Debug)]
pub(super) enum Slot {
    /// In the queue or being started, and told to end meanwhile.
    Waiting(Option<StopHow>),
    /// It has a process, which has not ended or is not known to have.
    Running {
        /// The group.
        pid: i32,
        /// The number that its processes are known by.
        number: u64,
        /// It was told to end, and how the last time, so that nothing of its tree may be left.
        stopped: Option<StopHow>,
    },
}

impl<T: Task> Supervisor<T> {
    /// Starts `threads` threads (at least 1), the one that sweeps, and a guardian.
    ///
    /// # Errors
    /// When the system gives no process, thread or descriptor.
    pub(crate) fn new(threads: usize, mark: Mark) -> io::Result<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let ledger = Arc::new(Ledger::new(mark)?);
        let guardian = Guardian::start(&ledger)?;
        let shared = Arc::new(Shared {
            ledger,
            queue: Mutex::default(),
            work: eventfd(0, flags | EventfdFlags::SEMAPHORE)?,
            closing: eventfd(0, flags)?,
            runs: Running::default(),
            sweeps: Mutex::default(),
            sweep: eventfd(0, flags)?,
            ending: AtomicUsize::new(0),
            spawners: AtomicUsize::new(0),
            is_closing: AtomicBool::new(false),
        });
        let mut supervisor = Self { shared, spawners: vec![], sweeper: None, _adoption: Adoption::begin()? };
        let sweeper = Sweeper::new(supervisor.shared.clone(), guardian);
        supervisor.sweeper = Some(thread::Builder::new().name("hq-sweep".to_owned()).spawn(|| sweeper.run())?);
        for n in 0..threads.max(1) {
            let (shared, (sender, ready)) = (supervisor.shared.clone(), mpsc::channel());
            let body = move || spawner::serve(shared, &sender);
            supervisor.spawners.push(thread::Builder::new().name(format!("hq-spawn-{n}")).spawn(body)?);
            ready.recv().unwrap_or_else(|_| Err(io::Error::other("a thread ended at once")))?;
        }
        Ok(supervisor)
    }

    /// Starts a task soon.
    pub(crate) fn start(&self, task: T) {
        self.shared.runs.lock().insert(task.run(), Slot::Waiting(None));
        self.shared.push(Work::Start(task));
    }

    /// What kills a run from elsewhere, as long as the supervisor is there.
    pub(crate) fn killer(&self) -> impl Fn(RunId) + Send + Sync + 'static {
        let shared = Arc::downgrade(&self.shared);
        move |run| {
            if let Some(shared) = shared.upgrade()
                && let Some(slot) = shared.runs.lock().get_mut(&run)
            {
                shared.stop(slot, StopHow::Kill);
            }
        }
    }

    /// Ends a run, if it has not ended.
    pub(crate) fn stop(&self, run: RunId, how: StopHow) {
        if let Some(slot) = self.shared.runs.lock().get_mut(&run) {
            self.shared.stop(slot, how);
        }
    }
}

impl<T: Task> Shared<T> {
    /// Ends the run of a slot. The runs are locked meanwhile: the leader of a stopped run is reaped only after the
    /// sweeper has had it, and that of another only after its slot is gone, so that the number of the process cannot
    /// have passed to another one.
    pub(super) fn stop(&self, slot: &mut Slot, how: StopHow) {
        match slot {
            Slot::Waiting(Some(StopHow::Kill | StopHow::Leave)) => {}
            Slot::Waiting(wish) => *wish = Some(how),
            Slot::Running { pid, number, stopped } => {
                *stopped = Some(how);
                match how {
                    StopHow::Interrupt => signal::interrupt(*pid),
                    StopHow::Kill | StopHow::Leave => self.to_sweeper(|sweeps| {
                        sweeps.kills.insert(*pid, *number);
                    }),
                }
            }
        }
    }

    /// The leader of a stopped run has ended; what is left of its tree has to go before the end is told.
    pub(super) fn sweep(&self, live: Live<T>) {
        self.ending.fetch_add(1, Ordering::AcqRel);
        self.to_sweeper(|sweeps| sweeps.ended.push(live));
    }

    fn to_sweeper(&self, put: impl FnOnce(&mut Sweeps<T>)) {
        let mut sweeps = self.sweeps();
        let is_first = sweeps.kills.is_empty() && sweeps.ended.is_empty();
        put(&mut sweeps);
        drop(sweeps);
        if is_first {
            add_one(&self.sweep);
        }
    }

    /// What waits for the sweeper.
    pub(super) fn sweeps(&self) -> MutexGuard<'_, Sweeps<T>> {
        self.sweeps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Work<T>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts work into the queue; ends go first.
    pub(super) fn push(&self, work: Work<T>) {
        match work {
            Work::Start(_) => self.queue().push_back(work),
            Work::Finish(_) => self.queue().push_front(work),
        }
        add_one(&self.work);
    }

    /// Takes work from the queue.
    pub(super) fn pop(&self) -> Option<Work<T>> {
        let work = self.queue().pop_front();
        if matches!(work, Some(Work::Finish(_))) {
            self.ending.fetch_sub(1, Ordering::AcqRel);
        }
        work
    }

    /// One thread less to start processes.
    pub(super) fn spawner_ends(&self) {
        self.spawners.fetch_sub(1, Ordering::AcqRel);
        add_one(&self.sweep);
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
        for work in waiting {
            match work {
                Work::Start(task) => {
                    self.shared.runs.lock().remove(&task.run());
                    task.give_up().end(Outcome::Killed);
                }
                Work::Finish(_) => self.shared.push(work),
            }
        }
        for slot in self.shared.runs.lock().values_mut() {
            self.shared.stop(slot, StopHow::Leave);
        }
        self.shared.is_closing.store(true, Ordering::Release);
        add_one(&self.shared.closing);
        add_one(&self.shared.sweep);
        // A `Done` may drop the last owner on one of the threads themselves. Then this thread, and the sweeper for its
        // sake, end later.
        let here = thread::current().id();
        let is_ours = self.spawners.iter().any(|thread| thread.thread().id() == here);
        let others = self.spawners.drain(..).filter(|thread| thread.thread().id() != here);
        let sweeper = self.sweeper.take().filter(|_| !is_ours);
        for thread in others.chain(sweeper) {
            let _ = thread.join();
        }
    }
}

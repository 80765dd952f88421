use std::{
    collections::HashMap,
    io,
    os::fd::AsFd,
    sync::{Arc, atomic::Ordering, mpsc},
    time::{Duration, Instant},
};

use hq_core::Outcome;
use rustix::{
    buffer::spare_capacity,
    event::{Timespec, epoll},
};

use super::{
    Launcher, Live, Task, signal,
    supervisor::{Shared, Slot, Work},
};

/// How long killed processes are waited for when the supervisor goes.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// How often a supervisor that goes looks whether the other threads are through.
const CLOSING_TICK: Duration = Duration::from_millis(10);

const WORK: u64 = u64::MAX;
const CLOSING: u64 = u64::MAX - 1;

/// One thread's life: takes tasks, starts processes, reaps them.
pub(super) fn serve<T: Task>(shared: Arc<Shared<T>>, ready: &mpsc::Sender<io::Result<()>>) {
    shared.spawners.fetch_add(1, Ordering::AcqRel);
    let shared = Present(shared);
    match Spawner::new(&shared.0) {
        Ok(mut spawner) => {
            let _ = ready.send(Ok(()));
            spawner.run();
        }
        Err(error) => {
            let _ = ready.send(Err(error));
        }
    }
}

/// Says that the thread ends, whatever ends it.
struct Present<T: Task>(Arc<Shared<T>>);

impl<T: Task> Drop for Present<T> {
    fn drop(&mut self) {
        self.0.spawner_ends();
    }
}

struct Spawner<'a, T: Task> {
    shared: &'a Arc<Shared<T>>,
    launcher: Launcher,
    epoll: std::os::fd::OwnedFd,
    live: HashMap<u64, Live<T>>,
    next: u64,
}

impl<'a, T: Task> Spawner<'a, T> {
    fn new(shared: &'a Arc<Shared<T>>) -> io::Result<Self> {
        let launcher = Launcher::new(shared.ledger.clone())?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        // Exclusive: one task wakes one thread.
        let exclusive = epoll::EventFlags::IN | epoll::EventFlags::EXCLUSIVE;
        epoll::add(&epoll, &shared.work, epoll::EventData::new_u64(WORK), exclusive)?;
        epoll::add(&epoll, &shared.closing, epoll::EventData::new_u64(CLOSING), epoll::EventFlags::IN)?;
        Ok(Self { shared, launcher, epoll, live: HashMap::new(), next: 0 })
    }

    fn run(&mut self) {
        let mut events = Vec::with_capacity(64);
        let mut deadline = None::<Instant>;
        loop {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            let is_idle = || self.live.is_empty() && self.shared.ending.load(Ordering::Acquire) == 0;
            if left.is_some_and(|left| left.is_zero() || is_idle()) {
                return;
            }
            let timeout = left.and_then(|left| Timespec::try_from(left.min(CLOSING_TICK)).ok());
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    tracing::error!("a thread that starts processes ends: epoll: {error}");
                    return;
                }
            }
            let mut work = false;
            for event in &events {
                match event.data.u64() {
                    WORK => work = true,
                    CLOSING => {
                        deadline = Some(Instant::now() + LAST_WAIT);
                        let _ = epoll::delete(&self.epoll, &self.shared.closing);
                    }
                    key => self.ended(key),
                }
            }
            if work {
                self.take_one();
            }
        }
    }

    fn take_one(&mut self) {
        let mut count = [0; 8];
        if rustix::io::read(&self.shared.work, &mut count).is_err() {
            return; // another thread was faster
        }
        match self.shared.pop() {
            Some(Work::Start(task)) => self.start(task),
            Some(Work::Finish(live)) => live.finish(self.shared),
            None => {}
        }
    }

    fn start(&mut self, task: T) {
        let run = task.run();
        let is_stopped = matches!(self.shared.runs.lock().get(&run), Some(Slot::Waiting(Some(_))));
        if is_stopped {
            self.shared.runs.lock().remove(&run);
            task.give_up().end(Outcome::Killed);
            return;
        }
        match task.launch(&mut self.launcher) {
            Ok((child, kept)) => self.started(Live { run, child, kept, stopped: None }),
            Err(end) => {
                self.shared.runs.lock().remove(&run);
                T::tell(end);
            }
        }
    }

    fn started(&mut self, live: Live<T>) {
        let (pid, number) = (live.child.pid, live.child.run);
        if let Some(slot) = self.shared.runs.lock().get_mut(&live.run) {
            let before = std::mem::replace(slot, Slot::Running { pid, number, stopped: None });
            if let Slot::Waiting(Some(how)) = before {
                self.shared.stop(slot, how);
            }
        }
        if let Some(live) = self.hand_over(live) {
            self.watch(live);
        }
    }

    /// Lets another thread notice the end of the process; gives it back where that is none's business or cannot be.
    fn hand_over(&self, live: Live<T>) -> Option<Live<T>> {
        let Some(watcher) = T::watcher(&live.kept) else { return Some(live) };
        let shared = Arc::clone(self.shared);
        shared.ending.fetch_add(1, Ordering::AcqRel);
        let ended = move |live: Live<T>| {
            live.ended(&shared);
            shared.ending.fetch_sub(1, Ordering::AcqRel);
        };
        let (error, live) = watcher.watch(live, |live| live.child.pidfd.as_fd(), ended).err()?;
        self.shared.ending.fetch_sub(1, Ordering::AcqRel);
        tracing::debug!("process {} is watched by the thread that started it: epoll: {error}", live.child.pid);
        Some(live)
    }

    fn watch(&mut self, live: Live<T>) {
        let pid = live.child.pid;
        let key = self.next;
        self.next += 1;
        let once = epoll::EventFlags::IN | epoll::EventFlags::ONESHOT;
        let added = epoll::add(&self.epoll, live.child.pidfd.as_fd(), epoll::EventData::new_u64(key), once);
        self.live.insert(key, live);
        if let Err(error) = added {
            // Out of kernel memory. Its end could not be noticed, so it is ended here and now.
            tracing::error!("cannot watch process {pid}, it is killed: epoll: {error}");
            signal::kill_group(pid);
            self.ended(key);
        }
    }

    fn ended(&mut self, key: u64) {
        if let Some(live) = self.live.remove(&key) {
            live.ended(self.shared);
        }
    }
}

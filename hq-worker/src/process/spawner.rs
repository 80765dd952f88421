use std::{
    collections::HashMap,
    io,
    os::fd::AsFd,
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use hq_core::{Outcome, RunId};
use rustix::{
    buffer::spare_capacity,
    event::{Timespec, epoll},
};

use super::{
    Child, Launcher, ProcessEnd, Task,
    supervisor::{Shared, Slot},
    tree,
};

/// How long killed processes are waited for when the supervisor goes.
const LAST_WAIT: Duration = Duration::from_secs(5);

const WORK: u64 = u64::MAX;
const CLOSING: u64 = u64::MAX - 1;

/// One thread's life: takes tasks, starts processes, reaps them.
pub(super) fn serve<T: Task>(shared: &Arc<Shared<T>>, ready: &mpsc::Sender<io::Result<()>>) {
    match Spawner::new(shared) {
        Ok(mut spawner) => {
            let _ = ready.send(Ok(()));
            spawner.run();
        }
        Err(error) => {
            let _ = ready.send(Err(error));
        }
    }
}

struct Spawner<'a, T: Task> {
    shared: &'a Shared<T>,
    launcher: Launcher,
    epoll: std::os::fd::OwnedFd,
    live: HashMap<u64, Live<T>>,
    next: u64,
}

struct Live<T: Task> {
    run: RunId,
    child: Child,
    kept: T::Live,
}

impl<'a, T: Task> Spawner<'a, T> {
    fn new(shared: &'a Arc<Shared<T>>) -> io::Result<Self> {
        let launcher = Launcher::new(shared.guardian.clone())?;
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
            let timeout = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if deadline.is_some() && (self.live.is_empty() || timeout == Some(Duration::ZERO)) {
                return;
            }
            let timeout = timeout.and_then(|left| Timespec::try_from(left).ok());
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
        let task = self.shared.queue().pop_front();
        let Some(task) = task else { return };
        let run = task.run();
        let is_stopped = matches!(self.shared.runs.lock().get(&run), Some(Slot::Waiting(Some(_))));
        if is_stopped {
            self.shared.runs.lock().remove(&run);
            task.give_up().end(Outcome::Killed);
            return;
        }
        match task.launch(&mut self.launcher) {
            Ok((child, kept)) => self.started(Live { run, child, kept }),
            Err((done, outcome)) => {
                self.shared.runs.lock().remove(&run);
                done.end(outcome);
            }
        }
    }

    fn started(&mut self, live: Live<T>) {
        let pid = live.child.pid;
        if let Some(slot) = self.shared.runs.lock().get_mut(&live.run) {
            let before = std::mem::replace(slot, Slot::Running { pid, stopped: false });
            if let Slot::Waiting(Some(how)) = before {
                slot.stop(how);
            }
        }
        let key = self.next;
        self.next += 1;
        let once = epoll::EventFlags::IN | epoll::EventFlags::ONESHOT;
        let added = epoll::add(&self.epoll, live.child.pidfd.as_fd(), epoll::EventData::new_u64(key), once);
        self.live.insert(key, live);
        if let Err(error) = added {
            // Out of kernel memory. Its end could not be noticed, so it is ended here and now.
            tracing::error!("cannot watch process {pid}, it is killed: epoll: {error}");
            tree::kill_session_of(pid);
            self.ended(key);
        }
    }

    fn ended(&mut self, key: u64) {
        let Some(Live { run, child, kept }) = self.live.remove(&key) else { return };
        // Until it is reaped, below, the number is its own. Nobody signals it once the slot is gone.
        let slot = self.shared.runs.lock().remove(&run);
        if matches!(slot, Some(Slot::Running { stopped: true, .. })) {
            tree::kill_session_of(child.pid);
        }
        self.shared.guardian.remove(child.pid);
        let end = ProcessEnd::reap(child.pidfd.as_fd());
        drop(child);
        let (done, outcome) = T::finish(kept, end);
        done.end(outcome);
    }
}

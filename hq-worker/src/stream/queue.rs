use std::{
    collections::{HashMap, VecDeque},
    io,
    os::fd::{BorrowedFd, OwnedFd},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use hq_core::{Outcome, RunId};
use rustix::event::{EventfdFlags, epoll, eventfd};

use super::{
    Names,
    watch::{Ready, Watch},
};
use crate::{Done, EndSink};

/// What is asked of the thread of a stream file.
pub(super) enum Command {
    /// A run begins, with these pipes by channel.
    Begin { key: u64, run: Names, pipes: [Option<OwnedFd>; 2], sink: Option<Arc<dyn EndSink>>, at: Instant },
    /// A run is over. Of what is in its pipes now, nothing may be lost.
    End { key: u64, how: HowOver, tell: Option<(Done, Outcome)> },
    /// A run is told to end, before its end or after it: nobody is waited for with what it printed.
    Stop { run: RunId },
}

/// Whether a run has come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HowOver {
    /// It has ended by itself.
    Ended,
    /// It was told to end.
    Stopped,
    /// It was cut off, with its worker: it may begin anew elsewhere.
    CutOff,
}

/// The way to the thread of a stream file.
pub(super) struct Queue {
    state: Mutex<State>,
    /// Readable when there is news.
    news: OwnedFd,
    /// What its thread waits for.
    pub(super) watch: Watch,
}

struct State {
    commands: VecDeque<Command>,
    /// The thread has been told that there is something, and has not taken it.
    is_told: bool,
    /// The thread sleeps so long that it has to be told of a beginning.
    is_dozing: bool,
    /// Runs that have begun or will, and are not over.
    users: usize,
    next_key: u64,
    is_closing: bool,
    /// What is done once the process of a run has ended, by key.
    processes: HashMap<u64, Box<dyn FnOnce() + Send>>,
}

impl Queue {
    pub(super) fn new() -> io::Result<Self> {
        let news = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let state = State {
            commands: VecDeque::new(),
            is_told: false,
            is_dozing: true,
            users: 0,
            next_key: 0,
            is_closing: false,
            processes: HashMap::new(),
        };
        let watch = Watch::new(&news)?;
        Ok(Self { state: Mutex::new(state), news, watch })
    }

    /// One more user; returns its key.
    pub(super) fn join(&self) -> u64 {
        let mut state = self.state();
        state.users += 1;
        state.next_key += 1;
        state.next_key
    }

    /// One user less, whose end may be told.
    pub(super) fn leave(&self, tell: Option<(Done, Outcome)>) {
        self.state().users -= 1;
        if let Some((done, outcome)) = tell {
            done.end(outcome);
        }
    }

    pub(super) fn put(&self, command: Command) {
        let mut state = self.state();
        // A beginning may wait for the next look of a thread that sleeps lightly: it saves that thread a change.
        let is_urgent = state.is_dozing || !matches!(command, Command::Begin { .. });
        state.commands.push_back(command);
        if is_urgent && !std::mem::replace(&mut state.is_told, true) {
            drop(state);
            self.wake();
        }
    }

    /// The thread goes to sleep; `is_light` where it wakes soon by itself. False: there is something to do.
    pub(super) fn sleep(&self, is_light: bool) -> bool {
        let mut state = self.state();
        state.is_dozing = !is_light;
        state.commands.is_empty()
    }

    /// Lets its thread call `ended` once the process has ended; see [`Watcher::watch`](super::Watcher::watch).
    pub(super) fn watch_process<L: Send + 'static>(
        &self,
        key: u64,
        process: L,
        pidfd: impl Fn(&L) -> BorrowedFd<'_>,
        ended: impl FnOnce(L) + Send + 'static,
    ) -> Result<(), (io::Error, L)> {
        // Locked meanwhile: its end may be there before this is over.
        let mut state = self.state();
        if let Err(error) = self.watch.add_process(pidfd(&process), key) {
            return Err((error, process));
        }
        state.processes.insert(key, Box::new(move || ended(process)));
        Ok(())
    }

    /// Takes note of what its thread has waited for: says whether there may be commands now. Processes that have ended
    /// make some.
    pub(super) fn heed(&self, events: &[epoll::Event]) -> bool {
        let mut is_news = false;
        for event in events {
            match Ready::of(event) {
                Ready::News => _ = rustix::io::read(&self.news, &mut [0; 8]),
                Ready::Process(key) => self.process_ended(key),
                Ready::Pipe(..) => continue,
            }
            is_news = true;
        }
        is_news
    }

    fn process_ended(&self, key: u64) {
        let mut state = self.state();
        // This very thread takes the commands next: it need not be woken.
        state.is_told = true;
        let ended = state.processes.remove(&key);
        drop(state);
        if let Some(ended) = ended {
            ended();
        }
    }

    /// Nobody joins any more.
    pub(super) fn close(&self) {
        self.state().is_closing = true;
        self.wake();
    }

    pub(super) fn take(&self) -> VecDeque<Command> {
        let mut state = self.state();
        state.is_told = false;
        std::mem::take(&mut state.commands)
    }

    pub(super) fn is_unused(&self) -> bool {
        self.state().users == 0
    }

    pub(super) fn is_closing(&self) -> bool {
        self.state().is_closing
    }

    /// Makes the thread look.
    pub(super) fn wake(&self) {
        // It fails only where the count is at its end, and then the descriptor is readable anyway.
        let _ = rustix::io::write(&self.news, &1u64.to_ne_bytes());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No step in here can leave it half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::{os::fd::AsFd, sync::Arc};

    use hq_core::{Epoch, GrantId, Ordinal};
    use rustix::event::Timespec;

    use super::*;
    use crate::stream::pipe;

    #[test]
    fn an_end_is_noticed_once_by_the_thread_itself() {
        let queue = Arc::new(Queue::new().unwrap());
        let run = RunId { task: Ordinal(1), grant: GrantId { epoch: Epoch(1), n: 1 } };
        // Stands for a process that has ended before it is watched.
        let (process, writer) = pipe().unwrap();
        rustix::io::write(&writer, b"x").unwrap();
        let (key, own) = (queue.join(), queue.clone());
        let ended = move |_| own.put(Command::Stop { run });
        assert!(queue.watch_process(key, process, OwnedFd::as_fd, ended).is_ok());
        let mut events = Vec::with_capacity(8);
        let mut wait = || {
            queue.watch.wait(&mut events, Some(&Timespec::default())).unwrap();
            let ready: Vec<Ready> = events.iter().map(Ready::of).collect();
            (ready, queue.heed(&events), queue.take().len())
        };
        assert_eq!(wait(), (vec![Ready::Process(key)], true, 1));
        assert_eq!(wait(), (vec![], false, 0), "it is not woken by what it has done itself");
        queue.put(Command::Stop { run });
        assert_eq!(wait(), (vec![Ready::News], true, 1), "by others it is");
    }
}

use std::{
    collections::VecDeque,
    io,
    os::fd::OwnedFd,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use hq_core::{Outcome, RunId};
use rustix::event::{EventfdFlags, eventfd};

use super::Names;
use crate::{Done, EndSink};

/// What is asked of the thread of a stream file.
pub(super) enum Command {
    /// A run begins, with these pipes by channel.
    Begin { key: u64, run: Names, pipes: [Option<OwnedFd>; 2], sink: Option<Arc<dyn EndSink>> },
    /// A run is over. Of what is in its pipes now, nothing may be lost.
    End { key: u64, how: HowOver, tell: Option<(Done, Outcome)> },
    /// A run is told to end, before its end or after it: nobody is waited for with what it printed.
    Stop { run: RunId },
}

/// Stands for the queue among what a thread waits for.
pub(super) const NEWS: u64 = u64::MAX;

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
    pub(super) news: OwnedFd,
}

#[derive(Default)]
struct State {
    commands: VecDeque<Command>,
    /// Runs that have begun or will, and are not over.
    users: usize,
    next_key: u64,
    is_closing: bool,
}

impl Queue {
    pub(super) fn new() -> io::Result<Self> {
        let news = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { state: Mutex::default(), news })
    }

    /// One more user; returns its key.
    pub(super) fn join(&self) -> u64 {
        let mut state = self.state();
        state.users += 1;
        state.next_key += 1;
        state.next_key
    }

    /// One user less.
    pub(super) fn leave(&self) {
        self.state().users -= 1;
    }

    pub(super) fn put(&self, command: Command) {
        self.state().commands.push_back(command);
        self.wake();
    }

    /// Nobody joins any more.
    pub(super) fn close(&self) {
        self.state().is_closing = true;
        self.wake();
    }

    pub(super) fn take(&self) -> VecDeque<Command> {
        std::mem::take(&mut self.state().commands)
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

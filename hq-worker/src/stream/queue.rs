use std::{
    collections::VecDeque,
    io,
    os::fd::OwnedFd,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use hq_core::{Outcome, RunId};
use rustix::event::{EventfdFlags, eventfd};

use super::Names;
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
        };
        Ok(Self { state: Mutex::new(state), news })
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

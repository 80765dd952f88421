use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

use hq_core::Channel;
use rustix::{
    buffer::spare_capacity,
    event::{Timespec, epoll},
    io::Errno,
};

/// Stands for the news of a queue among what is waited for.
const NEWS: u64 = u64::MAX;
/// Stands for the process of a run, behind its channels.
const PROCESS: u64 = 2;

/// What the thread of a queue waits for: pipes and processes of runs, by the run's key, and news.
#[derive(Debug)]
pub(super) struct Watch {
    epoll: OwnedFd,
}

/// What there is something from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ready {
    /// The queue.
    News,
    /// This pipe; or it has come to its end.
    Pipe(u64, Channel),
    /// The process of this run: it has ended.
    Process(u64),
}

impl Watch {
    /// Nothing but the news.
    ///
    /// # Errors
    /// When the system gives no descriptor.
    pub(super) fn new(news: impl AsFd) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, news, epoll::EventData::new_u64(NEWS), epoll::EventFlags::IN)?;
        Ok(Self { epoll })
    }

    /// Watches a pipe, until it is closed: nobody else has our end.
    ///
    /// # Errors
    /// When the system has no memory for it.
    pub(super) fn add(&self, pipe: impl AsFd, key: u64, channel: Channel) -> io::Result<()> {
        let data = epoll::EventData::new_u64(key << 2 | u64::from(channel.number()));
        Ok(epoll::add(&self.epoll, pipe, data, epoll::EventFlags::IN)?)
    }

    /// Watches a pipe no more.
    pub(super) fn remove(&self, pipe: impl AsFd) {
        // It fails only where it is not watched.
        let _ = epoll::delete(&self.epoll, pipe);
    }

    /// Watches a process, until it is told once that it has ended.
    ///
    /// # Errors
    /// When the system has no memory for it.
    pub(super) fn add_process(&self, pidfd: impl AsFd, key: u64) -> io::Result<()> {
        let data = epoll::EventData::new_u64(key << 2 | PROCESS);
        Ok(epoll::add(&self.epoll, pidfd, data, epoll::EventFlags::IN | epoll::EventFlags::ONESHOT)?)
    }

    /// Waits until there is something, not longer than that; puts all that there is into `events`.
    ///
    /// # Errors
    /// Those of epoll, where there should be none.
    pub(super) fn wait(&self, events: &mut Vec<epoll::Event>, timeout: Option<&Timespec>) -> io::Result<()> {
        events.clear();
        match epoll::wait(&self.epoll, spare_capacity(events), timeout) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Ready {
    /// What an event is of.
    pub(super) fn of(event: &epoll::Event) -> Self {
        match event.data.u64() {
            NEWS => Self::News,
            data => match data & 3 {
                PROCESS => Self::Process(data >> 2),
                0 => Self::Pipe(data >> 2, Channel::Stdout),
                _ => Self::Pipe(data >> 2, Channel::Stderr),
            },
        }
    }
}

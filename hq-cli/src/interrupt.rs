use std::{
    future::{Future, poll_fn},
    io,
    task::Poll,
};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGINT and SIGTERM, which no longer end the program once there is one of these.
pub(crate) struct Signals {
    minded: Vec<(&'static str, Signal)>,
    count: u32,
    last: &'static str,
}

impl Signals {
    /// Minds them from now on.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn new() -> io::Result<Self> {
        Self::of(&[("SIGINT", SignalKind::interrupt()), ("SIGTERM", SignalKind::terminate())])
    }

    /// The same of all by which users and systems end programs.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn all() -> io::Result<Self> {
        Self::of(&[
            ("SIGINT", SignalKind::interrupt()),
            ("SIGTERM", SignalKind::terminate()),
            ("SIGHUP", SignalKind::hangup()),
            ("SIGQUIT", SignalKind::quit()),
            ("SIGUSR1", SignalKind::user_defined1()),
            ("SIGUSR2", SignalKind::user_defined2()),
        ])
    }

    fn of(kinds: &[(&'static str, SignalKind)]) -> io::Result<Self> {
        let minded = kinds.iter().map(|(name, kind)| Ok((*name, signal(*kind)?)));
        Ok(Self { minded: minded.collect::<io::Result<_>>()?, count: 0, last: "" })
    }

    /// Ends when `n` of them have come, at once if they came before, with the name of the last one.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub(crate) async fn nth(&mut self, n: u32) -> &'static str {
        while self.count < n {
            self.last = poll_fn(|cx| {
                let mut come = self.minded.iter_mut();
                let come = come.find_map(|(name, signal)| signal.poll_recv(cx).is_ready().then_some(*name));
                come.map_or(Poll::Pending, Poll::Ready)
            })
            .await;
            self.count += 1;
        }
        self.last
    }
}

/// Minds SIGINT and SIGTERM from now on; the future ends with the name of the first one that comes.
///
/// # Errors
/// The system's.
pub(crate) fn interrupted() -> io::Result<impl Future<Output = &'static str>> {
    let mut signals = Signals::new()?;
    Ok(async move { signals.nth(1).await })
}

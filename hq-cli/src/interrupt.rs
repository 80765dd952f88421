use std::{future::Future, io};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGINT and SIGTERM, which no longer end the program once there is one of these.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    count: u32,
    last: &'static str,
}

impl Signals {
    /// Minds them from now on.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn new() -> io::Result<Self> {
        let [interrupt, terminate] = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
        Ok(Self { interrupt: interrupt?, terminate: terminate?, count: 0, last: "" })
    }

    /// Ends when `n` of them have come, at once if they came before, with the name of the last one.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub(crate) async fn nth(&mut self, n: u32) -> &'static str {
        while self.count < n {
            self.last = tokio::select! {
                _ = self.interrupt.recv() => "SIGINT",
                _ = self.terminate.recv() => "SIGTERM",
            };
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

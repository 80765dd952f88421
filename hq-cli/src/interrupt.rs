use std::{future::Future, io};

use tokio::signal::unix::{SignalKind, signal};

/// Minds SIGINT and SIGTERM from now on; the future ends with the name of the first one that comes.
///
/// # Errors
/// The system's.
pub(crate) fn interrupted() -> io::Result<impl Future<Output = &'static str>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => "SIGINT",
            _ = terminate.recv() => "SIGTERM",
        }
    })
}

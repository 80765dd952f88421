use std::{
    fmt, fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::{net::UnixListener, task::AbortHandle};

use super::{Tickets, listener::listen};

/// Where programs of tasks say something to those who watch their jobs: a Unix socket that only this user can use. Each
/// run has a token of its own, which is worth nothing once the run has ended.
///
/// Dropped, it takes nothing more, and the socket is removed.
pub struct NotifyDesk {
    pub(crate) tickets: Arc<Tickets>,
    socket: PathBuf,
    listener: AbortHandle,
}

/// There is no socket.
#[derive(Debug, thiserror::Error)]
#[error("cannot make the socket for messages of tasks at {path:?}")]
pub struct NotifySocketError {
    path: PathBuf,
    #[source]
    source: io::Error,
}

impl NotifyDesk {
    /// Opens the socket `notify` in `directory`, which no other user may be able to write to.
    ///
    /// # Errors
    /// The system's; paths of sockets can have at most 107 bytes.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn open(directory: &Path) -> Result<Self, NotifySocketError> {
        let socket = directory.join("notify");
        let error = |source| NotifySocketError { path: socket.clone(), source };
        let listener = UnixListener::bind(&socket).map_err(error)?;
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o600)).map_err(error)?;
        let tickets = Arc::new(Tickets::new(socket.clone()));
        let listener = tokio::spawn(listen(listener, tickets.clone())).abort_handle();
        Ok(Self { tickets, socket, listener })
    }
}

impl Drop for NotifyDesk {
    fn drop(&mut self) {
        self.listener.abort();
        let _ = fs::remove_file(&self.socket);
    }
}

impl fmt::Debug for NotifyDesk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotifyDesk").field("socket", &self.socket).finish_non_exhaustive()
    }
}

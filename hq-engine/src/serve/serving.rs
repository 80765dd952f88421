use hq_core::ServerInfo;
use hq_transport::server_dir::{RunDir, ServerDir};

/// Where an engine is reached from outside. Its run is the live one of its directory until [`end`](Self::end).
#[derive(Debug)]
pub(crate) struct Serving {
    pub(super) dir: ServerDir,
    pub(super) run: RunDir,
    pub(super) client: (String, u16),
    pub(super) worker: (String, u16),
}

impl Serving {
    /// The run's directory.
    pub(crate) fn run_dir(&self) -> &std::path::Path {
        self.run.path()
    }

    /// Adds where it listens.
    pub(crate) fn amend(&self, info: &mut ServerInfo) {
        (info.client_host, info.client_port) = self.client.clone();
        (info.worker_host, info.worker_port) = self.worker.clone();
    }

    /// Nobody shall look for a server here any more.
    pub(crate) fn end(self) {
        if let Err(e) = self.dir.clear_current(&self.run) {
            tracing::warn!("cannot remove the link to the live run in {:?}: {e}", self.dir.path());
        }
    }
}

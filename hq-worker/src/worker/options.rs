use std::{fmt, sync::Arc};

use hq_core::{HardwareState, WorkerConfig};
use hq_transport::{Link, Transport};
use tokio::sync::{Notify, mpsc};

use crate::Runners;

/// What a worker is made of.
pub struct WorkerOptions {
    pub(super) config: WorkerConfig,
    pub(super) link: Link,
    pub(super) runners: Runners,
    pub(super) handle: WorkerHandle,
    pub(super) overviews: Option<mpsc::Receiver<HardwareState>>,
    pub(super) way_back: Option<Arc<dyn Transport>>,
}

impl fmt::Debug for WorkerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerOptions").field("config", &self.config).field("link", &self.link).finish_non_exhaustive()
    }
}

impl WorkerOptions {
    /// A worker that says `config` of itself over `link`, a link to its server that has passed the handshake.
    ///
    /// The kinds of `runners` are added to the config.
    pub fn new(mut config: WorkerConfig, link: Link, runners: Runners) -> Self {
        config.kinds.extend(runners.kinds());
        config.kinds.sort();
        config.kinds.dedup();
        Self { config, link, runners, handle: WorkerHandle::default(), overviews: None, way_back: None }
    }

    /// The same, and what comes out of `overviews` is told to the server.
    #[must_use]
    pub fn overviews(mut self, overviews: mpsc::Receiver<HardwareState>) -> Self {
        self.overviews = Some(overviews);
        self
    }

    /// The same, and where its server is found again: asked whenever a worker that
    /// [reconnects](hq_core::OnServerLost::Reconnect) has lost it. Without one, no attempt succeeds.
    #[must_use]
    pub fn way_back(mut self, way_back: Arc<dyn Transport>) -> Self {
        self.way_back = Some(way_back);
        self
    }

    /// A handle on the worker, good before, while and after it runs.
    pub fn handle(&self) -> WorkerHandle {
        self.handle.clone()
    }
}

/// A handle on a worker, to end it from outside.
#[derive(Clone, Debug, Default)]
pub struct WorkerHandle {
    pub(super) interrupted: Arc<Notify>,
}

impl WorkerHandle {
    /// Ends the worker as a signal to its process does: what runs is killed, the server is not told why. It may be
    /// called from any thread, also before the worker runs.
    pub fn interrupt(&self) {
        self.interrupted.notify_one();
    }
}

use std::{
    io,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use async_trait::async_trait;
use hq_core::Welcome;
use hq_transport::{
    ConnectError, Identity, Link, Role, Transport, Versions,
    keys::PeerKey,
    server_dir::{RunDir, Seeker},
    tcp::TcpTransport,
};
use tokio::sync::oneshot;

use super::welcome::WelcomeWatch;

/// Leads a worker to the server of a directory, whichever that is at the time.
#[derive(Clone, Debug)]
pub(crate) struct ServerWay {
    server_dir: PathBuf,
}

impl ServerWay {
    /// To the server of that directory.
    pub(crate) fn new(server_dir: &Path) -> Self {
        Self { server_dir: server_dir.to_owned() }
    }

    /// Connects.
    ///
    /// # Errors
    /// Says what is wrong with the directory, the access record or the server.
    pub(crate) async fn find(&self) -> anyhow::Result<Link> {
        let version = env!("CARGO_PKG_VERSION");
        let run = RunDir::find(&self.server_dir, Seeker::Worker)?;
        let record = run.load_access(version)?;
        let path = run.access_path();
        let server = record.worker.with_context(|| format!("access record {path:?} is not for workers"))?;
        let key = PeerKey::of(&server).with_context(|| format!("access record {path:?} cannot be used"))?;
        let identity = Identity { role: Role::Worker, versions: Versions::current(version), key };
        let connected = TcpTransport::new(server.host.as_str(), server.port, identity).connect().await;
        connected
            .map_err(|error| anyhow::Error::from_boxed(error.into_cause()))
            .with_context(|| Unreachable { host: server.host, port: server.port })
    }
}

/// Nobody is where the record says, or it is somebody else.
#[derive(Debug, thiserror::Error)]
#[error("Access token found but HQ server {host}:{port} is unreachable")]
pub(crate) struct Unreachable {
    pub(crate) host: String,
    pub(crate) port: u16,
}

#[async_trait]
impl Transport for ServerWay {
    async fn connect(&self) -> Result<Link, ConnectError> {
        self.find().await.map_err(|error| ConnectError::Unreachable {
            address: format!("the server of {:?}", self.server_dir),
            source: io::Error::other(format!("{error:#}")),
        })
    }
}

/// The same link, and the server's first word to the worker when it has come over it; an error where the link ends
/// before.
pub(crate) fn watch_welcome(mut link: Link) -> (Link, oneshot::Receiver<Welcome>) {
    let (sender, welcome) = oneshot::channel();
    link.receiver = Box::new(WelcomeWatch::new(link.receiver, sender));
    (link, welcome)
}

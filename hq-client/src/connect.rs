use std::path::Path;

use hq_transport::{
    Identity, Link, Role, Transport, Versions,
    access::Endpoint,
    keys::PeerKey,
    server_dir::{RunDir, Seeker},
    session::HandshakeError,
    stream::HANDSHAKE_DEADLINE,
    tcp::TcpTransport,
    unix::UnixTransport,
};
use tokio::time::{Instant, timeout_at};

use crate::{Client, ConnectError};

impl Client {
    /// Connects to the server of this directory, which must be of the same version as this crate.
    ///
    /// On the server's machine the link is its Unix socket, else TCP. A server that does not answer is given up after
    /// [`HANDSHAKE_DEADLINE`] in all.
    ///
    /// # Errors
    /// Says what is missing or wrong; see [`ConnectError`].
    pub async fn connect(server_dir: &Path) -> Result<Self, ConnectError> {
        let version = env!("CARGO_PKG_VERSION");
        let run = RunDir::find(server_dir, Seeker::Client)?;
        let record = run.load_access(version)?;
        let Some(endpoint) = record.client else {
            return Err(ConnectError::NotForClients(run.access_path()));
        };
        let key = PeerKey::of(&endpoint).map_err(|source| ConnectError::Key { path: run.access_path(), source })?;
        let identity = Identity { role: Role::Client, versions: Versions::current(version), key };
        Ok(Self::over(link(&run, endpoint, identity).await?))
    }
}

async fn link(run: &RunDir, endpoint: Endpoint, identity: Identity) -> Result<Link, ConnectError> {
    let deadline = Instant::now() + HANDSHAKE_DEADLINE;
    // The socket's name follows from host, port and key of the record: one that is changed leads nowhere here.
    let socket = run.client_socket(&endpoint);
    if socket.exists() {
        let socket = UnixTransport::new(socket, identity.clone());
        if let Ok(Ok(link)) = timeout_at(deadline, socket.connect()).await {
            return Ok(link);
        }
    }
    let Endpoint { host, port, .. } = endpoint;
    let server = TcpTransport::new(host.as_str(), port, identity);
    let source = match timeout_at(deadline, server.connect()).await {
        Ok(Ok(link)) => return Ok(link),
        Ok(Err(error)) => error.into_cause(),
        Err(_) => HandshakeError::Timeout { seconds: HANDSHAKE_DEADLINE.as_secs() }.into(),
    };
    Err(ConnectError::Unreachable { host, port, source })
}

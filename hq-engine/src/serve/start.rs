use std::{path::Path, sync::Arc};

use hq_core::ServerInfo;
use hq_transport::{
    Gate, Identity, Listener, Role, Transport, Versions,
    access::{AccessRecord, Endpoint},
    keys::{PeerKey, ServerKeys},
    server_dir::{RunDir, Seeker, ServerDir, prepare_socket_dir},
    tcp::TcpTransport,
    unix::{UnixListener, UnixTransport},
};

use super::{ServeError, ServeOptions, Serving, listen, options::hostname};
use crate::{EngineHandle, driver::Input};

const VERSION: &str = env!("CARGO_PKG_VERSION");

impl EngineHandle {
    /// Takes in clients and workers from outside until the engine ends: clients over TCP and over a Unix socket,
    /// workers over TCP. The run directory and access record are made, and the directory's link names this run, when
    /// it returns.
    ///
    /// # Errors
    /// Where another server lives in the directory, and for what the system refuses. Nobody is listened to then.
    ///
    /// # Cancel safety
    /// Not cancel safe: a run directory may be left behind.
    pub async fn serve(&self, options: ServeOptions) -> Result<ServerInfo, ServeError> {
        check_free(&options.server_dir).await?;
        let dir = ServerDir::open_or_create(&options.server_dir)?;
        let uid = self.info().await?.server_uid;
        let versions = Versions::current(VERSION);
        let keys = Arc::new(keys(&options)?);
        let place = |role, port: Option<u16>| {
            let given = options.access.as_ref().and_then(|record| record.endpoint(role));
            let host = options.host.clone().or_else(|| given.map(|end| end.host.clone())).unwrap_or_else(hostname);
            (host, port.or(given.map(|end| end.port)).unwrap_or(0))
        };
        let (mut client, mut worker) =
            (place(Role::Client, options.client_port), place(Role::Worker, options.worker_port));
        let clients = listen::tcp(Role::Client, (&client.0, client.1), options.listen, &keys, &versions)?;
        let workers = listen::tcp(Role::Worker, (&worker.0, worker.1), options.listen, &keys, &versions)?;
        (client.1, worker.1) = (clients.local_addr().port(), workers.local_addr().port());
        for role in [Role::Client, Role::Worker] {
            if keys.peer_key(role).is_none() {
                tracing::warn!("links of {role}s are neither authenticated nor encrypted");
            }
        }
        // A record that was given keeps the uid that is in it.
        let uid = options.access.as_ref().and_then(|record| record.server_uid.clone()).unwrap_or(uid);
        let record = AccessRecord::full(VERSION, &uid, (&client.0, client.1), (&worker.0, worker.1), &keys);
        let run = dir.create_run()?;
        record.save(&run.access_path())?;
        let mut listeners: Vec<(Box<dyn Listener>, Role)> =
            vec![(Box::new(clients), Role::Client), (Box::new(workers), Role::Worker)];
        if let Some(socket) = record.client.as_ref().and_then(|client| socket(&run, client, versions)) {
            listeners.push((Box::new(socket), Role::Client));
        }
        dir.set_current(&run)?;
        let serving = Serving { dir, run, client, worker };
        self.send(Input::Serve { serving, listeners }).await?;
        Ok(self.info().await?)
    }
}

fn keys(options: &ServeOptions) -> Result<ServerKeys, ServeError> {
    match &options.access {
        Some(record) => Ok(ServerKeys::from_record(record)?),
        None => ServerKeys::generate(!options.client_is_plain, !options.worker_is_plain).map_err(ServeError::NewKeys),
    }
}

/// The socket for clients of this machine; they have TCP where it cannot be had.
fn socket(run: &RunDir, client: &Endpoint, versions: Versions) -> Option<UnixListener> {
    let path = run.client_socket(client);
    let gate = Gate { role: Role::Client, versions, keys: Arc::new(ServerKeys::none()) };
    let bound = prepare_socket_dir(&path).and_then(|()| UnixListener::bind(&path, gate));
    bound.inspect_err(|e| tracing::warn!("no socket for clients of this machine at {path:?}: {e}")).ok()
}

/// Makes sure that no server lives in a directory, as [`EngineHandle::serve`] does: to be asked before anything else is taken
/// that another server has, such as its journal.
///
/// # Errors
/// Where somebody answers at the place that the directory's record names. A record that cannot be used is stale.
///
/// # Cancel safety
/// Cancel safe.
pub async fn check_free(server_dir: &Path) -> Result<(), ServeError> {
    let Ok(run) = RunDir::find(server_dir, Seeker::Client) else { return Ok(()) };
    let Ok(AccessRecord { client: Some(client), .. }) = run.load_access(VERSION) else { return Ok(()) };
    let Ok(key) = PeerKey::of(&client) else { return Ok(()) };
    let identity = Identity { role: Role::Client, versions: Versions::current(VERSION), key };
    let socket = UnixTransport::new(run.client_socket(&client), identity.clone());
    let is_live = match socket.connect().await {
        Ok(mut link) => {
            link.sender.close().await;
            true
        }
        Err(_) => match TcpTransport::new(client.host, client.port, identity).connect().await {
            Ok(mut link) => {
                link.sender.close().await;
                true
            }
            Err(_) => false,
        },
    };
    if is_live { Err(ServeError::AlreadyOnline(server_dir.to_owned())) } else { Ok(()) }
}

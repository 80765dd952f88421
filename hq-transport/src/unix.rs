//! Links over Unix sockets: for peers of the same user on the same machine, so never sealed.
//!
//! Both ends ask the kernel for the other's user (`SO_PEERCRED`) and go on only if it is theirs.

use std::fmt;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, os::unix::net::UnixStream as StdStream};

use async_trait::async_trait;
use tokio::net::{UnixListener as Socket, UnixStream};

use crate::accept::{Acceptor, Incoming, RawListener, Source};
use crate::identity::{Gate, Identity};
use crate::keys::ServerKeys;
use crate::link::{AcceptError, ConnectError, Link, Listener, Transport};
use crate::stream::{Halves, Opening};

/// Connects to a socket file of this user.
#[derive(Debug, Clone)]
pub struct UnixTransport {
    path: PathBuf,
    identity: Identity,
}

impl UnixTransport {
    /// A way to this socket. A key in `identity` is not used.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, identity: Identity) -> Self {
        Self { path: path.into(), identity: Identity { key: None, ..identity } }
    }
}

#[async_trait]
impl Transport for UnixTransport {
    async fn connect(&self) -> Result<Link, ConnectError> {
        let address = self.path.display().to_string();
        let failed = |source| ConnectError::Handshake { address: address.clone(), source };
        let opening = Opening::new(&self.identity).map_err(failed)?;
        let connected = UnixStream::connect(&self.path).await;
        let (stream, _) = connected
            .and_then(check_peer)
            .map_err(|source| ConnectError::Unreachable { address: address.clone(), source })?;
        opening.run(halves(stream, address.clone())).await.map_err(failed)
    }
}

/// Listens on a socket file, mode 0600, for peers of one role and of this user.
///
/// The file is removed when the listener is dropped.
pub struct UnixListener {
    acceptor: Acceptor<Socket>,
    file: SocketFile,
}

impl UnixListener {
    /// Makes the socket file. One that nobody listens on any more is replaced. The directory must
    /// exist and be closed to others
    /// ([`prepare_socket_dir`](crate::server_dir::prepare_socket_dir) sees to it). The keys of
    /// `gate` are not used.
    ///
    /// # Errors
    /// `AddrInUse` when somebody listens there or the file is not a socket of ours; otherwise the
    /// operating system's.
    pub fn bind(path: impl Into<PathBuf>, gate: Gate) -> io::Result<Self> {
        let path = path.into();
        remove_stale(&path)?;
        let socket = Socket::bind(&path)?;
        // Between these two calls others could connect, if the directory let them: the check of
        // the peer's user holds then as ever.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        let file = SocketFile::new(path)?;
        let gate = Gate { keys: Arc::new(ServerKeys::none()), ..gate };
        Ok(Self { acceptor: Acceptor::new(socket, gate), file })
    }

    /// The socket file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.file.path
    }
}

#[async_trait]
impl Listener for UnixListener {
    async fn accept(&mut self) -> Result<Link, AcceptError> {
        self.acceptor.accept().await
    }

    fn address(&self) -> String {
        self.file.path.display().to_string()
    }
}

impl fmt::Debug for UnixListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnixListener").field("path", &self.file.path).finish_non_exhaustive()
    }
}

#[async_trait]
impl RawListener for Socket {
    async fn accept(&self) -> io::Result<Incoming> {
        let (stream, _) = Self::accept(self).await?;
        let (stream, uid) = check_peer(stream)?;
        Ok(Incoming { halves: halves(stream, format!("uid {uid}")), source: Source::Own })
    }
}

fn check_peer(stream: UnixStream) -> io::Result<(UnixStream, u32)> {
    let uid = stream.peer_cred()?.uid();
    if uid != rustix::process::geteuid().as_raw() {
        let text = format!("the other side runs as another user (uid {uid})");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    Ok((stream, uid))
}

fn halves(stream: UnixStream, address: String) -> Halves {
    let (reader, writer) = stream.into_split();
    Halves { reader: Box::new(reader), writer: Box::new(writer), address }
}

/// Removes the socket of a server that is gone.
fn remove_stale(path: &Path) -> io::Result<()> {
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e),
    };
    let is_ours = meta.file_type().is_socket() && meta.uid() == rustix::process::geteuid().as_raw();
    let is_dead = || StdStream::connect(path).is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused);
    if is_ours && is_dead() { fs::remove_file(path) } else { Err(io::ErrorKind::AddrInUse.into()) }
}

/// The file of a socket, removed when dropped unless somebody has replaced it.
struct SocketFile {
    path: PathBuf,
    inode: (u64, u64),
}

impl SocketFile {
    fn new(path: PathBuf) -> io::Result<Self> {
        let meta = fs::symlink_metadata(&path)?;
        Ok(Self { inode: (meta.dev(), meta.ino()), path })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_ours = fs::symlink_metadata(&self.path).is_ok_and(|meta| (meta.dev(), meta.ino()) == self.inode);
        if is_ours {
            let _ = fs::remove_file(&self.path);
        }
    }
}

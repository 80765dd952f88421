//! Links over TCP, sealed where there are keys. `TCP_NODELAY` is always set.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use async_trait::async_trait;
use tokio::net::{TcpListener as Socket, TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::accept::{Acceptor, Incoming, RawListener};
use crate::identity::{Gate, Identity};
use crate::link::{AcceptError, ConnectError, Link, Listener, Transport};
use crate::stream::{Halves, Opening};

/// Time that the connect itself may take, before the handshake's own deadline begins.
pub const CONNECT_DEADLINE: Duration = Duration::from_secs(5);

/// Connections that the kernel may hold for us: many workers start in the same second.
const BACKLOG: u32 = 4096;

/// Connects to a host and port under one identity.
#[derive(Debug, Clone)]
pub struct TcpTransport {
    host: String,
    port: u16,
    identity: Identity,
}

impl TcpTransport {
    /// A way to this host (a name or an address) and port. Nothing is resolved yet.
    #[must_use]
    pub fn new(host: impl Into<String>, port: u16, identity: Identity) -> Self {
        Self { host: host.into(), port, identity }
    }

    async fn connect_socket(&self) -> io::Result<TcpStream> {
        let stream = timeout(CONNECT_DEADLINE, TcpStream::connect((self.host.as_str(), self.port)))
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

#[async_trait]
impl Transport for TcpTransport {
    async fn connect(&self) -> Result<Link, ConnectError> {
        let address = format!("{}:{}", self.host, self.port);
        let failed = |source| ConnectError::Handshake { address: address.clone(), source };
        // Made before the connect, so that the first bytes follow it at once.
        let opening = Opening::new(&self.identity).map_err(failed)?;
        let stream = self
            .connect_socket()
            .await
            .map_err(|source| ConnectError::Unreachable { address: address.clone(), source })?;
        opening.run(halves(stream, address.clone())).await.map_err(failed)
    }
}

/// Listens on a TCP port for peers of one role.
///
/// At most 256 handshakes go on at a time, 192 from one source; see the crate's promises. They run
/// as tasks of the runtime, which end with the listener.
pub struct TcpListener {
    acceptor: Acceptor<Socket>,
    local: SocketAddr,
}

impl TcpListener {
    /// Listens on one address; port 0 takes a free one. Needs a runtime around it.
    ///
    /// # Errors
    /// The operating system's: the port is taken, or not ours to take.
    pub fn bind(address: SocketAddr, gate: Gate) -> io::Result<Self> {
        Self::from_socket(listen(address)?, gate)
    }

    /// Listens on all interfaces, IPv6 and IPv4 where the machine has IPv6, else IPv4.
    ///
    /// # Errors
    /// As [`TcpListener::bind`].
    pub fn bind_all(port: u16, gate: Gate) -> io::Result<Self> {
        match listen((Ipv6Addr::UNSPECIFIED, port).into()) {
            Ok(socket) => Self::from_socket(socket, gate),
            Err(e) if e.kind() == io::ErrorKind::AddrInUse => Err(e),
            Err(_) => Self::bind((Ipv4Addr::UNSPECIFIED, port).into(), gate),
        }
    }

    /// Listens on a socket that is bound already.
    ///
    /// # Errors
    /// The operating system's.
    pub fn from_std(socket: std::net::TcpListener, gate: Gate) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Self::from_socket(Socket::from_std(socket)?, gate)
    }

    fn from_socket(socket: Socket, gate: Gate) -> io::Result<Self> {
        let local = socket.local_addr()?;
        Ok(Self { acceptor: Acceptor::new(socket, gate), local })
    }

    /// The address and port that it listens on.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }
}

#[async_trait]
impl Listener for TcpListener {
    async fn accept(&mut self) -> Result<Link, AcceptError> {
        self.acceptor.accept().await
    }

    fn address(&self) -> String {
        self.local.to_string()
    }
}

impl fmt::Debug for TcpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpListener").field("local", &self.local).finish_non_exhaustive()
    }
}

#[async_trait]
impl RawListener for Socket {
    async fn accept(&self) -> io::Result<Incoming> {
        let (stream, peer) = Self::accept(self).await?;
        stream.set_nodelay(true)?;
        let address = SocketAddr::new(peer.ip().to_canonical(), peer.port()).to_string();
        Ok(Incoming { halves: halves(stream, address), source: peer.ip().into() })
    }
}

fn listen(address: SocketAddr) -> io::Result<Socket> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A server may be started again at once on the port of the one before.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

fn halves(stream: TcpStream, address: String) -> Halves {
    let (reader, writer) = stream.into_split();
    Halves { reader: Box::new(reader), writer: Box::new(writer), address }
}

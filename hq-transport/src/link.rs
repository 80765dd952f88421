//! The seam: what every transport gives, whatever carries the bytes.
//!
//! A link carries *batches*: byte strings of 0 to [`BATCH_MAX`](crate::frame::BATCH_MAX) bytes, in
//! order, each whole and once. The two halves are independent and may live in different tasks.

use std::io;

use async_trait::async_trait;

use crate::peer::PeerInfo;
use crate::session::HandshakeError;

/// A live link to a peer that has passed the handshake.
pub struct Link {
    /// Who is at the other end.
    pub peer: PeerInfo,
    /// The half that sends. Dropped without [`LinkSender::close`], the peer sees
    /// [`LinkError::Cut`].
    pub sender: Box<dyn LinkSender>,
    /// The half that receives.
    pub receiver: Box<dyn LinkReceiver>,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link").field("peer", &self.peer).finish_non_exhaustive()
    }
}

/// The sending half of a link.
#[async_trait]
pub trait LinkSender: Send {
    /// Hands one batch over, waiting while the peer is slow. An empty batch is legal.
    ///
    /// When it returns, the batch is in the operating system's hands (or the channel's), not
    /// necessarily at the peer.
    ///
    /// # Errors
    /// [`LinkError::BatchTooLarge`] leaves the link usable; after any other error it is dead.
    ///
    /// # Cancel safety
    /// Not cancel safe: a send dropped half-way may have put out half a batch, so every later send
    /// fails with [`LinkError::Interrupted`].
    async fn send(&mut self, batch: Vec<u8>) -> Result<(), LinkError>;

    /// Says good-bye, so that the peer's `recv` gives `Ok(None)`, and ends this direction.
    ///
    /// Errors are of no use any more and are dropped. Later sends fail with [`LinkError::Closed`].
    async fn close(&mut self);
}

/// The receiving half of a link.
#[async_trait]
pub trait LinkReceiver: Send {
    /// The next batch, or `None` after the peer's good-bye (and again at every later call).
    ///
    /// # Errors
    /// After an error the link is dead and every later call fails, too. A peer that vanishes
    /// without a good-bye is [`LinkError::Cut`] (or the socket's error), never `Ok(None)`.
    ///
    /// # Cancel safety
    /// Cancel safe: a call that is dropped has lost nothing.
    async fn recv(&mut self) -> Result<Option<Vec<u8>>, LinkError>;
}

/// Where peers come in.
#[async_trait]
pub trait Listener: Send {
    /// The next peer that has passed the handshake. Bad peers are dropped without a trace but a
    /// line in the log.
    ///
    /// Handshakes go on side by side while this is awaited: a slow peer does not hold up others.
    ///
    /// # Errors
    /// Only what no later call can mend; a lack of file descriptors is waited out.
    ///
    /// # Cancel safety
    /// Cancel safe: handshakes in progress go on at the next call.
    async fn accept(&mut self) -> Result<Link, AcceptError>;

    /// The address it listens on, for people and logs.
    fn address(&self) -> String;
}

/// A way to reach one server, under one role.
#[async_trait]
pub trait Transport: Send + Sync {
    /// Connects and passes the handshake. May be called again and again.
    ///
    /// # Errors
    /// See [`ConnectError`]; [`ConnectError::is_temporary`] says whether to try again.
    ///
    /// # Cancel safety
    /// Cancel safe: a call that is dropped closes what it had opened.
    async fn connect(&self) -> Result<Link, ConnectError>;
}

/// Why a link does not go on. The text tells the cause too, so that has no place in the chain of
/// [sources](std::error::Error::source).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The peer vanished, or closed its side, without a good-bye.
    #[error("the link was cut by the other side")]
    Cut,
    /// This side has been closed before, or the peer's receiver is gone.
    #[error("the link is closed")]
    Closed,
    /// An earlier `send` was dropped before it was done.
    #[error("the link is broken: an earlier send was interrupted")]
    Interrupted,
    /// The batch to send is longer than the limit; nothing was sent.
    #[error("batch of {len} bytes is over the limit of {max}")]
    BatchTooLarge {
        /// Bytes in the batch.
        len: u64,
        /// The limit.
        max: u64,
    },
    /// The keys of the link are used up (after 2^60 messages): connect again.
    #[error("the link has carried all messages that its keys are good for")]
    Exhausted,
    /// The peer sent what no honest peer sends: too long, forged, replayed, out of order.
    #[error("protocol error: {0}")]
    Protocol(crate::session::OpenError),
    /// The operating system's error.
    #[error("link failed: {0}")]
    Io(io::Error),
}

impl From<crate::session::OpenError> for LinkError {
    fn from(error: crate::session::OpenError) -> Self {
        Self::Protocol(error)
    }
}

impl From<io::Error> for LinkError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Why a listener cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcceptError {
    /// Nobody can connect any more (memory transport: all its transports are gone).
    #[error("the listener is closed")]
    Closed,
    /// The operating system's error.
    #[error("cannot accept connections: {0}")]
    Io(io::Error),
}

impl From<io::Error> for AcceptError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Why a connection did not come about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// Nobody answers there.
    #[error("{address} is unreachable")]
    Unreachable {
        /// The address that was tried.
        address: String,
        /// The operating system's reason.
        #[source]
        source: io::Error,
    },
    /// Somebody is there, and the handshake failed.
    #[error("no agreement with {address}")]
    Handshake {
        /// The address that was tried.
        address: String,
        /// What failed.
        #[source]
        source: HandshakeError,
    },
}

impl ConnectError {
    /// Whether the same call may succeed later: the peer was away, slow or closed early. Refusals,
    /// bad keys and version mismatches are permanent. A wrong key can look like an early close.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Handshake { source, .. } => source.is_temporary(),
        }
    }

    /// What stands behind the error, for those who name the address in a text of their own.
    #[must_use]
    pub fn into_cause(self) -> Box<dyn std::error::Error + Send + Sync> {
        match self {
            Self::Unreachable { source, .. } => source.into(),
            Self::Handshake { source, .. } => source.into(),
        }
    }
}

use std::io;

use super::hello::HelloError;
use super::refusal::Refusal;
use crate::frame::FrameTooLong;

/// Why a handshake failed, on either side. Carries no bytes of the peer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// The responder refuses this peer. The initiator gets the same value as the responder.
    #[error("{0}")]
    Refused(Refusal),
    /// The other side holds no key that fits ours, or somebody changed bytes on the way.
    #[error("authentication failed")]
    Authentication,
    /// The other side closed the connection before the end. A server does so without a word when
    /// the key is wrong.
    #[error("the other side closed the connection (wrong key, or not an hq server)")]
    ClosedEarly,
    /// The other side sent something that is no handshake of ours.
    #[error("protocol error: {0}")]
    Hello(HelloError),
    /// The other side sent an answer that is none.
    #[error("protocol error: malformed handshake message")]
    Malformed,
    /// The other side claims an overlong message.
    #[error("protocol error: {0}")]
    TooLong(FrameTooLong),
    /// We have a key, and the other side wants to talk without encryption.
    #[error("the server offers no encryption, but the access record has a key")]
    Downgrade,
    /// Not done within the deadline.
    #[error("no handshake within {seconds} s")]
    Timeout {
        /// The deadline.
        seconds: u64,
    },
    /// Our own program version is no 1 to 64 bytes of visible ASCII.
    #[error("program version is not 1 to 64 visible ASCII characters")]
    ProgramVersion,
    /// No keys could be made (no random bytes).
    #[error("cannot set up encryption")]
    Setup,
    /// The operating system's error.
    #[error("handshake failed: {0}")]
    Io(io::Error),
}

impl From<HelloError> for HandshakeError {
    fn from(error: HelloError) -> Self {
        Self::Hello(error)
    }
}

impl From<FrameTooLong> for HandshakeError {
    fn from(error: FrameTooLong) -> Self {
        Self::TooLong(error)
    }
}

impl From<io::Error> for HandshakeError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl HandshakeError {
    /// Whether another try may succeed: the other side closed early, was slow, or the network
    /// failed.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::ClosedEarly | Self::Timeout { .. } | Self::Io(_))
    }
}

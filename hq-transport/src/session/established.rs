use super::open::Opener;
use super::refusal::Refusal;
use super::seal::Sealer;
use crate::peer::{Role, Versions};

/// What one step of a handshake gives: bytes to send first, then what has become of it.
#[derive(Debug)]
pub struct Step {
    /// Bytes for the peer, possibly none. To be sent whatever the outcome.
    pub reply: Vec<u8>,
    /// Where the handshake is.
    pub outcome: Outcome,
}

/// Where a handshake is after a step.
#[derive(Debug)]
pub enum Outcome {
    /// Another frame of the peer is needed.
    More,
    /// Done: the peer is known.
    Established(Box<Established>),
    /// Done: we refuse the peer, and `reply` tells it why.
    Refused(Refusal),
}

/// The result of a handshake.
#[derive(Debug)]
pub struct Established {
    /// Role of the side that opened the link.
    pub role: Role,
    /// The peer's versions.
    pub versions: Versions,
    /// Whether the link is sealed.
    pub sealed: bool,
    /// For batches to the peer.
    pub sealer: Sealer,
    /// For bytes from the peer.
    pub opener: Opener,
}

impl Step {
    pub(super) fn more(reply: Vec<u8>) -> Self {
        Self { reply, outcome: Outcome::More }
    }

    pub(super) fn established(reply: Vec<u8>, result: Established) -> Self {
        Self { reply, outcome: Outcome::Established(Box::new(result)) }
    }

    pub(super) fn refused(reply: Vec<u8>, refusal: Refusal) -> Self {
        Self { reply, outcome: Outcome::Refused(refusal) }
    }
}

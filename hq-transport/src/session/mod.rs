//! The handshake and the sealing of batches, without any I/O: bytes in, bytes out.
//!
//! ```text
//! initiator (worker, client)                      responder (server)
//!   frame: hello  (magic, format, protocol, role, cipher or plain, program version)
//!   frame: Noise message 1 (psk, e, es)     ──▶   key of which role? versions? role of this port?
//!                                           ◀──   frame: 1, Noise message 2 (e, ee) with the verdict
//!   sealed empty batch: "I am live"         ──▶   established
//! ```
//!
//! * Noise `NKpsk0` over X25519 and SHA-256, AES-256-GCM or ChaCha20-Poly1305 as the hello says.
//!   The prologue is the hello, byte for byte, so that nothing in it can be changed on the way.
//! * The responder sees in message 1 that the peer holds a role's secret. A replay of an old message
//!   1 gets no further than the "I am live", which needs the keys of this very handshake.
//! * A refusal with a reason ([`Refusal`]) is sealed wherever both sides have a key, that is: a peer
//!   with a wrong key learns nothing. Only the refusals that no key could protect (plain against
//!   sealed, another handshake format) go in the clear: `frame: 0, verdict`. An initiator that
//!   has a key never accepts a plain link.
//! * On a plain link (`secret_key` null, or a Unix socket) the hello is the same, and the verdict
//!   follows in the clear.
//!
//! The caller feeds whole frames ([`frame::take`](crate::frame::take)) to `step` and sends what
//! it gets; it also sets the deadline.
//!
//! After that, [`Sealer`] turns batches into bytes and [`Opener`] turns bytes into batches.

mod error;
mod established;
mod hello;
mod initiator;
mod noise;
mod open;
mod reader;
mod refusal;
mod responder;
mod seal;
mod verdict;

pub use error::HandshakeError;
pub use established::{Established, Outcome, Step};
pub use hello::{Cipher, FORMAT, Hello, HelloError};
pub use initiator::Initiator;
pub use open::{Incoming, OpenError, Opener, Progress};
pub use refusal::Refusal;
pub use responder::Responder;
pub use seal::{PART_MAX, SealError, Sealer};

pub(crate) use seal::parts;

#[cfg(test)]
mod tests;

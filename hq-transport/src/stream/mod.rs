//! A link over any pair of byte streams: sockets, pipes, a tunnel.
//!
//! [`initiate`] and [`respond`] pass the handshake under [`HANDSHAKE_DEADLINE`] and give a
//! [`Link`](crate::Link). A batch goes out in one write (batches over 256 KiB: in several, so that
//! memory stays bounded); reads go through a buffer that starts at 8 KiB and grows to 128 KiB under
//! load.

mod buffer;
mod handshake;
mod receiver;
mod sender;
mod watch;

pub use handshake::{HANDSHAKE_DEADLINE, initiate, respond};

pub(crate) use handshake::{Halves, Opening, respond_watched};
pub(crate) use watch::Watch;

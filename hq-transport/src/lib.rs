//! Links between server, workers and clients: encoding, frames, sessions, transports.
//!
//! From the inside out:
//!
//! | Module | What it is | I/O |
//! |---|---|---|
//! | [`wire`] | values to bytes and back (`postcard`), [`PROTOCOL_VERSION`] | none |
//! | [`frame`] | length-prefixed frames with a limit that is checked before memory is taken | none |
//! | [`keys`] | role secrets and the server's key pair derived from them | random bytes |
//! | [`session`] | hello, Noise `NKpsk0` handshake, sealing of batches | none |
//! | [`link`](mod@link) | [`Link`], [`LinkSender`], [`LinkReceiver`], [`Listener`], [`Transport`]: the seam | – |
//! | [`stream`] | a link over any pair of byte streams | caller's |
//! | [`tcp`], [`unix`], [`memory`] | the three transports | sockets, sockets, none |
//! | [`typed`] | batches of messages of one type | – |
//! | [`access`] | the access record and its file | files |
//! | [`server_dir`] | server directory, run directories, `hq-current`, place of the client socket | files |
//!
//! Promises that hold everywhere:
//!
//! * Before a peer has proved that it holds a key, it can make us read at most
//!   [`frame::PRE_AUTH_MAX`] bytes per frame, for at most [`stream::HANDSHAKE_DEADLINE`].
//! * No claimed length or count makes us reserve memory; memory follows the bytes that came.
//! * No bytes of a peer can cause a panic, and none of them are put into error texts, except the
//!   checked parts of a hello.
//! * Secrets are not shown by `Debug` or `Display`.
//! * The order of batches is kept; a batch arrives whole, once, or the link ends with an error.
//! * There is no global state and no background task that outlives its listener or link.

#![forbid(unsafe_code)]

pub mod access;
pub mod frame;
mod identity;
pub mod keys;
pub mod link;
pub mod memory;
mod peer;
pub mod server_dir;
pub mod session;
pub mod stream;
pub mod tcp;
pub mod typed;
pub mod unix;
pub mod wire;

mod accept;

pub use identity::{Gate, Identity};
pub use link::{AcceptError, ConnectError, Link, LinkError, LinkReceiver, LinkSender, Listener, Transport};
pub use peer::{PeerInfo, Role, Versions};
pub use typed::{RecvError, SendError, TypedReceiver, TypedSender};
pub use wire::PROTOCOL_VERSION;

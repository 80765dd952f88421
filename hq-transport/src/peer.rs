//! Who is at the other end of a link.

use std::fmt;

use crate::wire::PROTOCOL_VERSION;

/// What the side that opened a link is: it decides what may be asked over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// A worker: runs tasks, can never submit.
    Worker,
    /// A client: submits and asks, with all rights of the server's owner.
    Client,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Worker => "worker",
            Self::Client => "client",
        })
    }
}

/// The versions that one side of a link speaks.
///
/// The program's version is at most [`Versions::PROGRAM_MAX`] bytes of visible ASCII; anything else
/// is refused when a handshake starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versions {
    /// Version of the messages; see [`PROTOCOL_VERSION`].
    pub protocol: u16,
    /// Version of the program, as in the access record.
    pub program: String,
}

impl Versions {
    /// Longest version text of a program, in bytes.
    pub const PROGRAM_MAX: usize = 64;

    /// This build's protocol under the given program version.
    pub fn current(program: impl Into<String>) -> Self {
        Self { protocol: PROTOCOL_VERSION, program: program.into() }
    }

    /// Whether the program's version can be sent: 1 to 64 bytes of visible ASCII.
    #[must_use]
    pub fn is_valid_program(text: &str) -> bool {
        (1..=Self::PROGRAM_MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic())
    }
}

/// What is known of the peer of a [`Link`](crate::Link).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerInfo {
    /// Role of the side that opened the link: the peer's on a server, one's own elsewhere.
    pub role: Role,
    /// Where the peer is, for people: `10.0.0.7:4711`, `uid 1000`, `memory`.
    pub address: String,
    /// The peer's versions. Messages to it must stay within its protocol.
    pub versions: Versions,
    /// Whether the peer has proved to hold a key and the link is encrypted.
    pub sealed: bool,
}

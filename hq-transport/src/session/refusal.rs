use std::fmt;

use crate::peer::{Role, Versions};

/// Why a server refuses a peer. Both ends get the same value; `Display` is written for the
/// refused one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The versions of the messages do not fit.
    Protocol {
        /// Protocol of the server.
        server: u16,
        /// Protocol of the refused peer.
        peer: u16,
        /// Program version of the server.
        program: String,
    },
    /// A client must have exactly the server's program version.
    Program {
        /// Program version of the server.
        server: String,
        /// Program version of the refused peer.
        peer: String,
    },
    /// The peer's role, or the role that its key is for, is not served at this port.
    Role {
        /// Role that this port serves.
        port: Role,
        /// Role of the peer.
        peer: Role,
    },
    /// The peer has no key and this port wants one.
    KeyRequired,
    /// The peer has a key and this port is plain.
    KeyUnexpected,
    /// The handshake itself is of another version.
    Format {
        /// Handshake format of the server.
        server: u8,
        /// Program version of the server.
        program: String,
    },
    /// A reason that this version does not know.
    Other(u8),
}

impl Refusal {
    /// Whether these versions fit, seen alike from both ends: clients must equal the server,
    /// workers may be one protocol behind.
    ///
    /// # Errors
    /// [`Refusal::Protocol`] or [`Refusal::Program`].
    pub(super) fn check(role: Role, server: &Versions, peer: &Versions) -> Result<(), Self> {
        let is_one_behind = peer.protocol.checked_add(1) == Some(server.protocol);
        let may_be_behind = role == Role::Worker && is_one_behind;
        if peer.protocol != server.protocol && !may_be_behind {
            return Err(Self::Protocol {
                server: server.protocol,
                peer: peer.protocol,
                program: server.program.clone(),
            });
        }
        if role == Role::Client && peer.program != server.program {
            let (server, peer) = (server.program.clone(), peer.program.clone());
            return Err(Self::Program { server, peer });
        }
        Ok(())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protocol { server, peer, program } => {
                write!(f, "server speaks {server}, you speak {peer} — use hq ")?;
                if peer < server { write!(f, "≥ {program}") } else { write!(f, "{program}, or a newer server") }
            }
            Self::Program { server, peer } => {
                write!(f, "server has version {server}, you have {peer} — use hq {server}")
            }
            Self::Role { port, peer } => {
                write!(f, "a {peer} cannot act as a {port}: this port serves {port}s only")
            }
            Self::KeyRequired => f.write_str("the server requires a key, and the access record has none"),
            Self::KeyUnexpected => f.write_str("the server's links are plain, but the access record has a key"),
            Self::Format { server, program } => {
                write!(f, "server speaks handshake format {server} — use hq {program}")
            }
            Self::Other(code) => write!(f, "the server refuses this peer (reason {code})"),
        }
    }
}

impl std::error::Error for Refusal {}

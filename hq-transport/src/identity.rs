//! What each side of a handshake brings with it.

use std::sync::Arc;

use crate::keys::{PeerKey, ServerKeys};
use crate::peer::{Role, Versions};

/// What a worker or client shows when it connects.
#[derive(Debug, Clone)]
pub struct Identity {
    /// What it is.
    pub role: Role,
    /// What it speaks.
    pub versions: Versions,
    /// Its key; `None` for a plain link.
    pub key: Option<PeerKey>,
}

/// What a server's listener lets in.
#[derive(Debug, Clone)]
pub struct Gate {
    /// The one role that is served here.
    pub role: Role,
    /// What the server speaks.
    pub versions: Versions,
    /// The server's keys; without one for `role`, links are plain.
    pub keys: Arc<ServerKeys>,
}

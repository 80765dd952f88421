use std::{io, path::PathBuf};

use hq_transport::{access::AccessError, keys::KeyError, server_dir::ServerDirError};

use crate::EngineError;

/// An engine cannot take in clients and workers.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Another server lives there.
    #[error(
        "server is already online in {0:?}, stop it first using `hq server stop --server-dir {path}`",
        path = .0.display()
    )]
    AlreadyOnline(PathBuf),
    /// The server directory cannot be used.
    #[error(transparent)]
    ServerDir(#[from] ServerDirError),
    /// The access record cannot be written.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The keys of the given access record cannot be used, or there are none to be had.
    #[error("the access record cannot be used")]
    Keys(#[from] KeyError),
    /// The system has no random bytes for new keys.
    #[error("cannot make new keys")]
    NewKeys(#[source] io::Error),
    /// An address that cannot be listened on.
    #[error("cannot listen for {role}s on {address}")]
    Listen {
        /// Whom for.
        role: hq_transport::Role,
        /// Where.
        address: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The engine has ended.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

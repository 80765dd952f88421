use std::path::PathBuf;

use hq_core::{ClientReply, Refusal};
use hq_transport::{keys::KeyError, server_dir::ServerDirError};

/// No server could be reached. The cause of an error tells more.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The directory, or the access record in it, cannot be used.
    #[error(transparent)]
    ServerDir(#[from] ServerDirError),
    /// The record is one for workers only.
    #[error("access record {0:?} is not for clients: it has no part `client`")]
    NotForClients(PathBuf),
    /// The key of the record cannot be used.
    #[error("access record {path:?} cannot be used")]
    Key {
        /// The record.
        path: PathBuf,
        /// Why.
        #[source]
        source: KeyError,
    },
    /// Nobody is where the record says, or it is somebody else.
    #[error("Access token found but HQ server {host}:{port} is unreachable")]
    Unreachable {
        /// Host of the record.
        host: String,
        /// Port of the record.
        port: u16,
        /// Why: [what stands behind](hq_transport::ConnectError::into_cause) the transport's error.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// A request has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The server does not do it, and why; nothing has changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The link ended before the answer. Whether the request was carried out is not known.
    #[error("the connection to the server was lost: {0}")]
    Lost(String),
    /// The request is too large to be sent; nothing was sent.
    #[error("the request cannot be sent: {0}")]
    Unsendable(String),
    /// An answer of another kind.
    #[error("the server gave an answer that does not fit the request")]
    Unexpected(Box<ClientReply>),
}

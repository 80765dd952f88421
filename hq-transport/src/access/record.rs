use std::fmt;

use serde::{Deserialize, Serialize};

use crate::keys::ServerKeys;
use crate::peer::Role;

/// An access record: the JSON in `access.json`.
///
/// Full, it has all four keys; a split one has `version` and one part, and no other keys. Unknown
/// keys are ignored when read. `Debug` does not show secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessRecord {
    /// Version of the program that made it; must be equal to the reader's.
    pub version: String,
    /// Uid of the server; full records only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_uid: Option<String>,
    /// Where clients connect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<Endpoint>,
    /// Where workers connect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<Endpoint>,
}

/// Where peers of one role connect, and with what.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// Name or address of the host; need not resolve here.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// 128 hex digits ([`PeerKey`](crate::keys::PeerKey)), or `None` (JSON: null) where links are
    /// plain. The key must be there in the JSON.
    #[serde(deserialize_with = "Option::deserialize")]
    pub secret_key: Option<String>,
}

impl AccessRecord {
    /// A full record.
    #[must_use]
    pub fn full(
        version: &str,
        server_uid: &str,
        (client_host, client_port): (&str, u16),
        (worker_host, worker_port): (&str, u16),
        keys: &ServerKeys,
    ) -> Self {
        let endpoint = |host: &str, port, role| Endpoint {
            host: host.to_owned(),
            port,
            secret_key: keys.peer_key(role).map(|key| key.to_text()),
        };
        Self {
            version: version.to_owned(),
            server_uid: Some(server_uid.to_owned()),
            client: Some(endpoint(client_host, client_port, Role::Client)),
            worker: Some(endpoint(worker_host, worker_port, Role::Worker)),
        }
    }

    /// The split record for peers of one role: `version` and that part.
    #[must_use]
    pub fn split(&self, role: Role) -> Self {
        let part = |of| if of == role { self.endpoint(of).cloned() } else { None };
        Self { version: self.version.clone(), server_uid: None, client: part(Role::Client), worker: part(Role::Worker) }
    }

    /// The part for peers of this role, if the record has it.
    #[must_use]
    pub fn endpoint(&self, role: Role) -> Option<&Endpoint> {
        match role {
            Role::Client => self.client.as_ref(),
            Role::Worker => self.worker.as_ref(),
        }
    }

    /// Whether the record has all that a server needs.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.server_uid.is_some() && self.client.is_some() && self.worker.is_some()
    }
}

impl Endpoint {
    /// Whether the host can be shown and looked up: 1 to 255 visible characters.
    pub(super) fn is_valid(&self) -> bool {
        (1..=255).contains(&self.host.len()) && self.host.chars().all(|c| !c.is_control() && !c.is_whitespace())
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("secret_key", &self.secret_key.as_ref().map(|_| "…"))
            .finish()
    }
}

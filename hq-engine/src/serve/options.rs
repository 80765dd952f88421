use std::{fs, net::IpAddr, path::PathBuf};

use hq_transport::access::AccessRecord;

/// How an engine is reached from outside.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    pub(super) server_dir: PathBuf,
    pub(super) access: Option<AccessRecord>,
    pub(super) host: Option<String>,
    pub(super) client_port: Option<u16>,
    pub(super) worker_port: Option<u16>,
    pub(super) client_is_plain: bool,
    pub(super) worker_is_plain: bool,
    pub(super) listen: Option<IpAddr>,
}

impl ServeOptions {
    /// As usual, with the access record in this directory, which is made if it is missing: under the machine's name,
    /// on free ports, with new keys.
    pub fn new(server_dir: impl Into<PathBuf>) -> Self {
        Self {
            server_dir: server_dir.into(),
            access: None,
            host: None,
            client_port: None,
            worker_port: None,
            client_is_plain: false,
            worker_is_plain: false,
            listen: None,
        }
    }

    /// With the hosts, ports and keys of this full record, where nothing else is said.
    #[must_use]
    pub fn access(mut self, record: AccessRecord) -> Self {
        self.access = Some(record);
        self
    }

    /// The host that clients and workers are told; need not resolve here. Where it is this machine's loopback, only
    /// this machine is listened to.
    #[must_use]
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.host = Some(host.into());
        self
    }

    /// The port for clients.
    #[must_use]
    pub const fn client_port(mut self, port: u16) -> Self {
        self.client_port = Some(port);
        self
    }

    /// The port for workers.
    #[must_use]
    pub const fn worker_port(mut self, port: u16) -> Self {
        self.worker_port = Some(port);
        self
    }

    /// Listens on this address only, in place of all interfaces.
    #[must_use]
    pub const fn listen(mut self, address: IpAddr) -> Self {
        self.listen = Some(address);
        self
    }

    /// Takes clients over TCP without keys: whoever reaches the port is the owner.
    #[must_use]
    pub const fn plain_clients(mut self) -> Self {
        self.client_is_plain = true;
        self
    }

    /// Takes workers without keys: whoever reaches the port gets tasks.
    #[must_use]
    pub const fn plain_workers(mut self) -> Self {
        self.worker_is_plain = true;
        self
    }
}

/// The name of this machine, as access records have it where nothing else is said.
pub fn hostname() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "localhost".to_owned() } else { name.to_owned() }
}

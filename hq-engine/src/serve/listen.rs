use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

use hq_transport::{Gate, Role, Versions, keys::ServerKeys, tcp::TcpListener};

use super::ServeError;

/// Listens for peers of one role: on one address, or on all interfaces unless `host` is the loopback.
pub(super) fn tcp(
    role: Role,
    (host, port): (&str, u16),
    listen: Option<IpAddr>,
    keys: &Arc<ServerKeys>,
    versions: &Versions,
) -> Result<TcpListener, ServeError> {
    let gate = Gate { role, versions: versions.clone(), keys: Arc::clone(keys) };
    let address = listen.or_else(|| loopback(host));
    let bound = match address {
        Some(address) => TcpListener::bind(SocketAddr::new(address, port), gate),
        None => TcpListener::bind_all(port, gate),
    };
    bound.map_err(|source| {
        let place = address.map_or_else(|| "all interfaces".to_owned(), |address| address.to_string());
        ServeError::Listen { role, address: format!("{place}, port {port}"), source }
    })
}

/// The address of a host that is no other than this machine.
fn loopback(host: &str) -> Option<IpAddr> {
    if host == "localhost" {
        return Some(Ipv4Addr::LOCALHOST.into());
    }
    host.parse().ok().filter(IpAddr::is_loopback)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_loopback_narrows() {
        for (host, expected) in [
            ("localhost", Some("127.0.0.1")),
            ("127.0.0.2", Some("127.0.0.2")),
            ("::1", Some("::1")),
            ("10.0.0.1", None),
            ("abcd123", None),
            ("localhost.example", None),
        ] {
            assert_eq!(loopback(host).map(|address| address.to_string()).as_deref(), expected, "{host}");
        }
    }
}

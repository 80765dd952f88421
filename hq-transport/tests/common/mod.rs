//! What the tests of links share.

// Each test binary uses a part of it.
#![allow(dead_code)]

use std::sync::Arc;

use hq_transport::keys::ServerKeys;
use hq_transport::stream::{initiate, respond};
use hq_transport::{Gate, Identity, Link, Role, Versions};

/// The keys of the server under test.
pub(crate) fn keys(sealed: bool) -> Arc<ServerKeys> {
    Arc::new(ServerKeys::generate(sealed, sealed).unwrap())
}

pub(crate) fn versions() -> Versions {
    Versions::current("0.1.0")
}

pub(crate) fn gate(role: Role, keys: &Arc<ServerKeys>) -> Gate {
    Gate { role, versions: versions(), keys: keys.clone() }
}

pub(crate) fn identity(role: Role, keys: &ServerKeys) -> Identity {
    Identity { role, versions: versions(), key: keys.peer_key(role) }
}

/// Both ends of a link over an in-memory byte stream: the client's and the server's.
pub(crate) async fn over_duplex(sealed: bool) -> (Link, Link) {
    let keys = keys(sealed);
    let (near, far) = tokio::io::duplex(10_000);
    let (near_read, near_write) = tokio::io::split(near);
    let (far_read, far_write) = tokio::io::split(far);
    let (identity, gate) = (identity(Role::Client, &keys), gate(Role::Client, &keys));
    let (near, far) = tokio::join!(
        initiate(near_read, near_write, "server".into(), &identity),
        respond(far_read, far_write, "client".into(), &gate),
    );
    (near.unwrap(), far.unwrap())
}

pub(crate) fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n * 31 + n / 251) as u8).collect()
}

//! Listeners among hostile peers.

mod common;

use std::io::Read;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{gate, identity, keys, versions};
use hq_transport::keys::ServerKeys;
use hq_transport::session::{HandshakeError, Initiator, Refusal};
use hq_transport::stream::{HANDSHAKE_DEADLINE, initiate, respond};
use hq_transport::tcp::{TcpListener, TcpTransport};
use hq_transport::unix::{UnixListener, UnixTransport};
use hq_transport::{ConnectError, Identity, Link, Listener, Role, Transport, Versions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

/// A server at a TCP port that keeps what it accepts.
struct Server {
    address: SocketAddr,
    links: mpsc::Receiver<Link>,
}

async fn serve(role: Role, keys: &Arc<ServerKeys>) -> Server {
    let gate = gate(role, keys);
    let mut listener = TcpListener::bind("127.0.0.1:0".parse().unwrap(), gate).unwrap();
    let address = listener.local_addr();
    let (accepted, links) = mpsc::channel(100);
    tokio::spawn(async move {
        while let Ok(link) = listener.accept().await {
            if accepted.send(link).await.is_err() {
                break;
            }
        }
    });
    Server { address, links }
}

async fn connect(address: SocketAddr, identity: Identity) -> Result<Link, ConnectError> {
    TcpTransport::new(address.ip().to_string(), address.port(), identity).connect().await
}

fn refusal(result: Result<Link, ConnectError>) -> Refusal {
    match result {
        Err(ConnectError::Handshake { source: HandshakeError::Refused(refusal), .. }) => refusal,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn refusals_reach_the_peer_over_tcp() {
    let keys = keys(true);
    let server = serve(Role::Client, &keys).await;
    for _ in 0..20 {
        // A worker's key at the client port, however the peer calls itself.
        let worker = identity(Role::Worker, &keys);
        let role = Refusal::Role { port: Role::Client, peer: Role::Worker };
        assert_eq!(refusal(connect(server.address, worker.clone()).await), role);
        let posing = Identity { role: Role::Client, ..worker };
        assert_eq!(refusal(connect(server.address, posing).await), role);
        // No key. Here the server answers before it has read all that was sent.
        let plain = Identity { key: None, ..identity(Role::Client, &keys) };
        assert_eq!(refusal(connect(server.address, plain).await), Refusal::KeyRequired);
        // Another version.
        let old = Versions { protocol: 0, program: "0.0.1".into() };
        let old = Identity { versions: old, ..identity(Role::Client, &keys) };
        let text = refusal(connect(server.address, old).await).to_string();
        assert_eq!(text, "server speaks 2, you speak 0 — use hq ≥ 0.1.0");
        let other = Identity { versions: Versions::current("0.1.1"), ..identity(Role::Client, &keys) };
        let text = refusal(connect(server.address, other).await).to_string();
        assert_eq!(text, "server has version 0.1.0, you have 0.1.1 — use hq 0.1.0");
    }
    let plain_server = serve(Role::Client, &self::keys(false)).await;
    let keyed = identity(Role::Client, &keys);
    assert_eq!(refusal(connect(plain_server.address, keyed).await), Refusal::KeyUnexpected);
}

#[tokio::test]
async fn a_wrong_key_gets_silence() {
    let server = serve(Role::Worker, &keys(true)).await;
    let error = connect(server.address, identity(Role::Worker, &keys(true))).await.unwrap_err();
    let ConnectError::Handshake { source: HandshakeError::ClosedEarly, .. } = &error else {
        panic!("{error:?}");
    };
    assert!(error.is_temporary());
}

#[tokio::test]
async fn nobody_there() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = connect(address, identity(Role::Client, &keys(true))).await.unwrap_err();
    assert_eq!(error.to_string(), format!("{address} is unreachable"));
    let dir = tempfile::tempdir().unwrap();
    let identity = identity(Role::Client, &keys(true));
    let error = UnixTransport::new(dir.path().join("s"), identity).connect().await.unwrap_err();
    assert!(matches!(error, ConnectError::Unreachable { .. }));
}

#[tokio::test]
async fn bad_beginnings_are_closed_without_a_word() {
    let keys = keys(true);
    let mut server = serve(Role::Client, &keys).await;
    let huge = u32::MAX.to_le_bytes();
    let large = (128u32 << 20).to_le_bytes();
    let over = 4097u32.to_le_bytes();
    let goodbye = (1u32 << 31).to_le_bytes();
    let http = b"GET / HTTP/1.1\r\n\r\n";
    let empty = [0; 4];
    for beginning in [&huge[..], &large, &over, &goodbye, http, &empty] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(beginning).await.unwrap();
        let mut answer = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(2), stream.read_to_end(&mut answer));
        let _ = read.await.expect("closed at once");
        assert!(answer.is_empty());
    }
    // The server lives.
    connect(server.address, identity(Role::Client, &keys)).await.unwrap();
    assert!(server.links.recv().await.is_some());
}

#[tokio::test(start_paused = true)]
async fn slow_peers_are_dropped_at_the_deadline() {
    let keys = keys(true);
    let gate = gate(Role::Worker, &keys);
    let (_, first) = Initiator::new(versions(), Role::Worker, keys.peer_key(Role::Worker).as_ref()).unwrap();
    for drip in [vec![], first] {
        let (near, far) = tokio::io::duplex(1000);
        let (reader, writer) = tokio::io::split(far);
        let start = tokio::time::Instant::now();
        let slow = tokio::spawn(async move {
            let mut near = near;
            for byte in drip {
                let _ = near.write_all(&[byte]).await;
                tokio::time::sleep(Duration::from_secs(4)).await;
            }
            // Silent, but there.
            tokio::time::sleep(Duration::from_secs(600)).await;
        });
        let result = respond(reader, writer, "slow".into(), &gate).await;
        slow.abort();
        assert!(matches!(result, Err(HandshakeError::Timeout { seconds: 5 })), "{result:?}");
        assert_eq!(start.elapsed(), HANDSHAKE_DEADLINE);
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_given_up() {
    let keys = keys(true);
    let (near, _far) = tokio::io::duplex(1000);
    let (reader, writer) = tokio::io::split(near);
    let result = initiate(reader, writer, "mute".into(), &identity(Role::Client, &keys)).await;
    assert!(matches!(result, Err(HandshakeError::Timeout { .. })));
}

#[tokio::test]
async fn silent_connections_do_not_lock_out_a_worker() {
    let keys = keys(true);
    let mut server = serve(Role::Worker, &keys).await;
    let mut silent = Vec::new();
    for _ in 0..400 {
        silent.push(TcpStream::connect(server.address).await.unwrap());
    }
    let start = Instant::now();
    connect(server.address, identity(Role::Worker, &keys)).await.unwrap();
    server.links.recv().await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    // Most of the silent ones had to give way: only the half-open are held.
    let mut closed = 0;
    for stream in silent {
        let mut stream = stream.into_std().unwrap();
        closed += usize::from(matches!(stream.read(&mut [0]), Ok(0)));
    }
    assert!(closed >= 400 - 256, "{closed}");
}

#[tokio::test]
async fn many_peers_at_once() {
    let keys = keys(true);
    let mut server = serve(Role::Worker, &keys).await;
    let mut peers = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let identity = identity(Role::Worker, &keys);
        peers.spawn(async move {
            // All share one thread; where that is too slow for the deadline, they try again, as
            // workers do.
            loop {
                match connect(server.address, identity.clone()).await {
                    Err(e) if e.is_temporary() => {}
                    other => break other,
                }
            }
        });
    }
    let mut accepted = Vec::new();
    while let Some(link) = peers.join_next().await {
        link.unwrap().unwrap();
        accepted.push(server.links.recv().await.unwrap());
    }
}

#[tokio::test]
async fn a_dropped_accept_loses_nobody() {
    let keys = keys(true);
    let gate = gate(Role::Worker, &keys);
    let mut listener = TcpListener::bind("127.0.0.1:0".parse().unwrap(), gate).unwrap();
    let peer = tokio::spawn(connect(listener.local_addr(), identity(Role::Worker, &keys)));
    let _link = loop {
        tokio::select! {
            biased;
            link = listener.accept() => break link.unwrap(),
            () = tokio::task::yield_now() => {}
        }
    };
    peer.await.unwrap().unwrap();
}

#[tokio::test]
async fn all_interfaces() {
    let keys = keys(true);
    let mut listener = TcpListener::bind_all(0, gate(Role::Client, &keys)).unwrap();
    let address = SocketAddr::new("127.0.0.1".parse().unwrap(), listener.local_addr().port());
    let (near, far) = tokio::join!(connect(address, identity(Role::Client, &keys)), listener.accept());
    near.unwrap();
    assert!(far.unwrap().peer.address.starts_with("127.0.0.1:"));
}

#[tokio::test]
async fn socket_files() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let bind = || UnixListener::bind(&path, gate(Role::Client, &keys(true)));
    let listener = bind().unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    // Somebody listens.
    assert_eq!(bind().unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
    drop(listener);
    assert!(!path.exists());
    // Left over by a server that was killed.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    drop(bind().unwrap());
    // Something else is not touched.
    std::fs::write(&path, "precious").unwrap();
    assert_eq!(bind().unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
}

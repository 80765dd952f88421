//! Reaching a server, or not.

use std::{error::Error as _, os::unix::net::UnixListener};

use hq_client::Client;
use hq_transport::{access::AccessRecord, keys::ServerKeys, server_dir::ServerDir, stream::HANDSHAKE_DEADLINE};
use tokio::time::Instant;

/// A server directory whose record names this port of the machine, and the place of the socket.
fn server_dir(port: u16) -> (tempfile::TempDir, std::path::PathBuf) {
    let root = tempfile::tempdir().expect("a directory");
    let dir = ServerDir::open_or_create(root.path()).expect("made");
    let run = dir.create_run().expect("made");
    let end = ("localhost", port);
    let record = AccessRecord::full(env!("CARGO_PKG_VERSION"), "abc123", end, end, &ServerKeys::none());
    record.save(&run.access_path()).expect("written");
    dir.set_current(&run).expect("named");
    let socket = run.client_socket(record.client.as_ref().expect("a client part"));
    (root, socket)
}

#[tokio::test]
async fn the_cause_is_told_once() {
    let (root, _) = server_dir(1);
    let error = Client::connect(root.path()).await.expect_err("nobody is there");
    assert_eq!(error.to_string(), "Access token found but HQ server localhost:1 is unreachable");
    let cause = error.source().expect("a cause");
    assert!(cause.to_string().starts_with("Connection refused"), "{cause}");
    assert!(cause.source().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_given_up_once() {
    // The system takes connections for both, and nobody looks at them.
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").expect("listens");
    let (root, socket) = server_dir(tcp.local_addr().expect("an address").port());
    let _socket = UnixListener::bind(socket).expect("listens");
    let start = Instant::now();
    let error = Client::connect(root.path()).await.expect_err("nobody answers");
    assert!(start.elapsed() < HANDSHAKE_DEADLINE * 11 / 10, "{:?}", start.elapsed());
    assert_eq!(error.source().expect("a cause").to_string(), "no handshake within 5 s");
}

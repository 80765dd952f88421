//! What every link promises, whatever carries it: one suite over all transports.

mod common;

use std::time::Duration;

use common::{gate, identity, keys, over_duplex, pattern, versions};
use hq_transport::frame::BATCH_MAX;
use hq_transport::tcp::{TcpListener, TcpTransport};
use hq_transport::unix::{UnixListener, UnixTransport};
use hq_transport::{
    AcceptError, ConnectError, Link, LinkError, Listener, RecvError, Role, SendError, Transport, TypedReceiver,
    TypedSender, memory,
};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

const LENS: [usize; 7] = [0, 1, 65_518, 65_519, 65_520, 300_000, 1 << 20];

/// Makes links of one kind.
enum Kind {
    Memory,
    Duplex { sealed: bool },
    Tcp { sealed: bool },
    Unix,
}

const KINDS: [Kind; 6] = [
    Kind::Memory,
    Kind::Duplex { sealed: false },
    Kind::Duplex { sealed: true },
    Kind::Tcp { sealed: false },
    Kind::Tcp { sealed: true },
    Kind::Unix,
];

impl Kind {
    async fn pair(&self) -> (Link, Link) {
        match *self {
            Self::Memory => memory::pair(Role::Client, versions()),
            Self::Duplex { sealed } => over_duplex(sealed).await,
            Self::Tcp { sealed } => {
                let keys = keys(sealed);
                let address = "127.0.0.1:0".parse().unwrap();
                let gate = gate(Role::Client, &keys);
                let mut listener = TcpListener::bind(address, gate).unwrap();
                let port = listener.local_addr().port();
                let identity = identity(Role::Client, &keys);
                let transport = TcpTransport::new("localhost", port, identity);
                both(&transport, &mut listener).await
            }
            Self::Unix => {
                let dir = tempfile::tempdir().unwrap();
                let path = dir.path().join("s");
                let keys = keys(true);
                let mut listener = UnixListener::bind(&path, gate(Role::Client, &keys)).unwrap();
                let transport = UnixTransport::new(&path, identity(Role::Client, &keys));
                both(&transport, &mut listener).await
            }
        }
    }
}

async fn both(transport: &dyn Transport, listener: &mut dyn Listener) -> (Link, Link) {
    let (near, far) = tokio::join!(transport.connect(), listener.accept());
    (near.unwrap(), far.unwrap())
}

#[tokio::test]
async fn peers_know_each_other() {
    for kind in KINDS {
        let (near, far) = kind.pair().await;
        let sealed = matches!(kind, Kind::Duplex { sealed: true } | Kind::Tcp { sealed: true });
        for link in [near, far] {
            assert_eq!(link.peer.role, Role::Client);
            assert_eq!(link.peer.versions, versions());
            assert_eq!(link.peer.sealed, sealed);
            assert!(!link.peer.address.is_empty());
        }
    }
}

#[tokio::test]
async fn batches_arrive_whole_and_in_order_both_ways() {
    for kind in KINDS {
        let (mut near, mut far) = kind.pair().await;
        let there = async {
            for len in LENS {
                near.sender.send(pattern(len)).await.unwrap();
            }
        };
        let home = async {
            for len in LENS {
                assert_eq!(near.receiver.recv().await.unwrap().unwrap().len(), len);
            }
        };
        let back = async {
            for len in LENS {
                let batch = far.receiver.recv().await.unwrap().unwrap();
                assert!(batch == pattern(len), "{len}");
                far.sender.send(batch).await.unwrap();
            }
        };
        timeout(Duration::from_secs(20), async { tokio::join!(there, back, home) }).await.unwrap();
    }
}

#[tokio::test]
async fn goodbye_is_a_clean_end() {
    for kind in KINDS {
        let (mut near, mut far) = kind.pair().await;
        near.sender.send(b"last".to_vec()).await.unwrap();
        near.sender.close().await;
        near.sender.close().await;
        assert!(matches!(near.sender.send(vec![]).await, Err(LinkError::Closed)));
        assert_eq!(far.receiver.recv().await.unwrap().unwrap(), b"last");
        assert!(far.receiver.recv().await.unwrap().is_none());
        assert!(far.receiver.recv().await.unwrap().is_none());
        // The other direction lives on.
        far.sender.send(b"answer".to_vec()).await.unwrap();
        assert_eq!(near.receiver.recv().await.unwrap().unwrap(), b"answer");
    }
}

#[tokio::test]
async fn a_vanished_peer_is_no_clean_end() {
    for kind in KINDS {
        let (mut near, far) = kind.pair().await;
        drop(far);
        for _ in 0..2 {
            assert!(matches!(near.receiver.recv().await, Err(LinkError::Cut)));
        }
        // A send notices it sooner or later.
        let error = loop {
            match near.sender.send(vec![0; 1 << 20]).await {
                Ok(()) => {}
                Err(e) => break e,
            }
        };
        assert!(matches!(error, LinkError::Cut), "{error:?}");
    }
}

#[tokio::test]
async fn overlong_batches_are_refused_and_the_link_lives() {
    for kind in KINDS {
        let (mut near, mut far) = kind.pair().await;
        let len = u64::from(BATCH_MAX) + 1;
        let result = near.sender.send(vec![0; len as usize]).await;
        assert!(matches!(result, Err(LinkError::BatchTooLarge { len: l, .. }) if l == len));
        near.sender.send(b"short".to_vec()).await.unwrap();
        assert_eq!(far.receiver.recv().await.unwrap().unwrap(), b"short");
    }
}

#[tokio::test]
async fn a_dropped_recv_loses_nothing() {
    for kind in KINDS {
        let (mut near, mut far) = kind.pair().await;
        let send = async {
            for n in 0..50usize {
                near.sender.send(pattern(n * 3000)).await.unwrap();
                tokio::task::yield_now().await;
            }
        };
        let recv = async {
            for n in 0..50usize {
                let batch = loop {
                    tokio::select! {
                        biased;
                        batch = far.receiver.recv() => break batch.unwrap().unwrap(),
                        () = tokio::task::yield_now() => {}
                    }
                };
                assert!(batch == pattern(n * 3000), "{n}");
            }
        };
        tokio::join!(send, recv);
    }
}

#[tokio::test]
async fn a_dropped_send_breaks_the_link() {
    let (mut near, far) = over_duplex(true).await;
    // Nobody reads, so the send cannot end.
    tokio::select! {
        biased;
        result = near.sender.send(vec![0; 1 << 20]) => panic!("{result:?}"),
        () = tokio::task::yield_now() => {}
    }
    assert!(matches!(near.sender.send(vec![]).await, Err(LinkError::Interrupted)));
    // The peer must not take the torn batch, or its end, for a clean one.
    let mut receiver = far.receiver;
    let (end, ()) = tokio::join!(receiver.recv(), near.sender.close());
    assert!(matches!(end, Err(LinkError::Cut)), "{end:?}");
}

#[tokio::test]
async fn a_slow_peer_slows_its_sender() {
    for kind in KINDS {
        let (mut near, _far) = kind.pair().await;
        let flood = async {
            loop {
                near.sender.send(vec![0; 1 << 20]).await.unwrap();
            }
        };
        assert!(timeout(Duration::from_millis(200), flood).await.is_err());
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Message {
    Ping(u32),
    Text(String),
}

#[tokio::test]
async fn typed_links() {
    let (near, mut far) = over_duplex(true).await;
    let mut sender = TypedSender::new(near.sender);
    let mut receiver = TypedReceiver::<Message>::new(far.receiver);
    let batch = vec![Message::Ping(7), Message::Text("x".into())];
    sender.send(&batch).await.unwrap();
    sender.send(&[]).await.unwrap();
    assert_eq!(receiver.recv().await.unwrap().unwrap(), batch);
    assert_eq!(receiver.recv().await.unwrap().unwrap(), []);
    sender.close().await;
    assert!(receiver.recv().await.unwrap().is_none());
    let after = sender.send(&[]).await;
    assert!(matches!(after, Err(SendError::Link(LinkError::Closed))));

    far.sender.send(vec![1, 99]).await.unwrap();
    let mut receiver = TypedReceiver::<Message>::new(near.receiver);
    assert!(matches!(receiver.recv().await, Err(RecvError::Wire(_))));
    assert!(matches!(receiver.recv().await, Err(RecvError::Link(LinkError::Closed))));
}

#[tokio::test]
async fn memory_channel() {
    let (transport, mut listener) = memory::channel(Role::Worker, versions());
    let (mut near, mut far) = both(&transport, &mut listener).await;
    near.sender.send(vec![1]).await.unwrap();
    assert_eq!(far.receiver.recv().await.unwrap(), Some(vec![1]));
    drop(listener);
    assert!(matches!(transport.connect().await, Err(ConnectError::Unreachable { .. })));
    let (transport, mut listener) = memory::channel(Role::Worker, versions());
    drop(transport);
    assert!(matches!(listener.accept().await, Err(AcceptError::Closed)));
}

/// Not a check but a look: `cargo test --release -p hq-transport --test links -- --ignored --nocapture`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "prints throughput"]
async fn throughput() {
    use std::io::Write;
    for (name, kind) in
        [("tcp plain", Kind::Tcp { sealed: false }), ("tcp sealed", Kind::Tcp { sealed: true }), ("unix", Kind::Unix)]
    {
        for len in [4 << 10, 64_000, 1 << 20] {
            let (mut near, mut far) = kind.pair().await;
            let total = 1usize << 30;
            let start = std::time::Instant::now();
            let send = tokio::spawn(async move {
                for _ in 0..total / len {
                    near.sender.send(vec![1; len]).await.unwrap();
                }
                near.sender.close().await;
                near
            });
            while far.receiver.recv().await.unwrap().is_some() {}
            send.await.unwrap();
            let rate = total as f64 / start.elapsed().as_secs_f64() / 1e6;
            writeln!(std::io::stderr(), "{name} {len}: {rate:.0} MB/s").unwrap();
        }
    }
}

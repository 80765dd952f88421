//! Links within this process: bounded channels of batches, no bytes copied, nothing sealed.
//!
//! Good-byes, cuts and the limit of a batch are as on sockets, so that what runs over these links
//! runs over others.

use std::fmt;
use std::io;

use async_trait::async_trait;
use tokio::sync::mpsc;

use crate::frame::BATCH_MAX;
use crate::link::{AcceptError, ConnectError, Link, LinkError, LinkReceiver, LinkSender, Listener, Transport};
use crate::peer::{PeerInfo, Role, Versions};

/// Batches that may be under way in one direction of a link before the sender waits.
pub const BATCHES_MAX: usize = 16;
/// Links that may wait to be accepted.
const BACKLOG_MAX: usize = 64;

/// A listener, and transports that lead to it, for peers of one role.
#[must_use]
pub fn channel(role: Role, versions: Versions) -> (MemoryTransport, MemoryListener) {
    let (links, incoming) = mpsc::channel(BACKLOG_MAX);
    (MemoryTransport { links, role, versions }, MemoryListener { incoming })
}

/// Both ends of a new link: the peer's, of the given role, and the server's.
#[must_use]
pub fn pair(role: Role, versions: Versions) -> (Link, Link) {
    let (to_server, at_server) = mpsc::channel(BATCHES_MAX);
    let (to_peer, at_peer) = mpsc::channel(BATCHES_MAX);
    let link = |sender, receiver| Link {
        peer: PeerInfo { role, address: "memory".to_owned(), versions: versions.clone(), sealed: false },
        sender: Box::new(MemorySender { channel: Some(sender) }),
        receiver: Box::new(MemoryReceiver { channel: receiver, has_ended: false }),
    };
    (link(to_server, at_peer), link(to_peer, at_server))
}

/// Leads to the [`MemoryListener`] it was made with.
#[derive(Clone)]
pub struct MemoryTransport {
    links: mpsc::Sender<Link>,
    role: Role,
    versions: Versions,
}

#[async_trait]
impl Transport for MemoryTransport {
    async fn connect(&self) -> Result<Link, ConnectError> {
        let (ours, theirs) = pair(self.role, self.versions.clone());
        self.links.send(theirs).await.map_err(|_| ConnectError::Unreachable {
            address: "memory".to_owned(),
            source: io::ErrorKind::ConnectionRefused.into(),
        })?;
        Ok(ours)
    }
}

impl fmt::Debug for MemoryTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryTransport").field("role", &self.role).finish_non_exhaustive()
    }
}

/// Where links of its [`MemoryTransport`]s come in.
pub struct MemoryListener {
    incoming: mpsc::Receiver<Link>,
}

#[async_trait]
impl Listener for MemoryListener {
    async fn accept(&mut self) -> Result<Link, AcceptError> {
        self.incoming.recv().await.ok_or(AcceptError::Closed)
    }

    fn address(&self) -> String {
        "memory".to_owned()
    }
}

impl fmt::Debug for MemoryListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryListener").finish_non_exhaustive()
    }
}

enum Item {
    Batch(Vec<u8>),
    Goodbye,
}

struct MemorySender {
    channel: Option<mpsc::Sender<Item>>,
}

#[async_trait]
impl LinkSender for MemorySender {
    async fn send(&mut self, batch: Vec<u8>) -> Result<(), LinkError> {
        let channel = self.channel.as_ref().ok_or(LinkError::Closed)?;
        let (len, max) = (batch.len() as u64, BATCH_MAX.into());
        if len > max {
            return Err(LinkError::BatchTooLarge { len, max });
        }
        channel.send(Item::Batch(batch)).await.map_err(|_| LinkError::Cut)
    }

    async fn close(&mut self) {
        if let Some(channel) = self.channel.take() {
            let _ = channel.send(Item::Goodbye).await;
        }
    }
}

struct MemoryReceiver {
    channel: mpsc::Receiver<Item>,
    has_ended: bool,
}

#[async_trait]
impl LinkReceiver for MemoryReceiver {
    async fn recv(&mut self) -> Result<Option<Vec<u8>>, LinkError> {
        if self.has_ended {
            return Ok(None);
        }
        match self.channel.recv().await {
            Some(Item::Batch(batch)) => Ok(Some(batch)),
            Some(Item::Goodbye) => {
                self.has_ended = true;
                Ok(None)
            }
            None => Err(LinkError::Cut),
        }
    }
}

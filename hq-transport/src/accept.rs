//! Taking peers in, with many handshakes side by side and a limit on those half-open.
//!
//! The limit must not let silent connections lock out honest peers. An honest peer's first bytes
//! follow its connect at once; so when there is no room for a newcomer, a connection of the busiest
//! source is dropped for it: one that has kept us waiting for [`PATIENCE`] without having shown a
//! key, or for [`PATIENCE_WITH_KEY`] with one (which may be a replay). While it is our turn, nobody
//! is dropped; and without pressure, everybody gets the whole deadline.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet, yield_now};
use tokio::time::{Instant, sleep_until};

use crate::identity::Gate;
use crate::link::{AcceptError, Link};
use crate::session::HandshakeError;
use crate::stream::{Halves, Watch, respond_watched};

/// Handshakes that may be going on at a time. Each costs a file descriptor and at most a few pages. The more there
/// are, the faster a crowd of silent connections is gone through: this many per [`PATIENCE`].
const HALF_OPEN_MAX: usize = 256;
/// Of these, from one source.
const HALF_OPEN_PER_SOURCE_MAX: usize = 192;
const PATIENCE: Duration = Duration::from_millis(30);
const PATIENCE_WITH_KEY: Duration = Duration::from_secs(2);
/// Pause of accepting when there are no file descriptors or buffers.
const PAUSE: Duration = Duration::from_millis(100);

/// Where connections come from.
#[async_trait]
pub(crate) trait RawListener: Send + Sync {
    /// The next connection. Cancel safe.
    async fn accept(&self) -> io::Result<Incoming>;
}

/// A connection that has shown nothing yet.
pub(crate) struct Incoming {
    pub(crate) halves: Halves,
    pub(crate) source: Source,
}

/// What connections are counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Source {
    /// This machine and user: trusted, so counted in total only.
    Own,
    V4([u8; 4]),
    /// The first half of an IPv6 address: the rest is free for a host to choose.
    V6([u8; 8]),
}

impl From<IpAddr> for Source {
    fn from(ip: IpAddr) -> Self {
        match ip.to_canonical() {
            IpAddr::V4(ip) => Self::V4(ip.octets()),
            IpAddr::V6(ip) => {
                let [a, b, c, d, e, f, g, h, ..] = ip.octets();
                Self::V6([a, b, c, d, e, f, g, h])
            }
        }
    }
}

/// Accepts connections, passes handshakes and gives links.
pub(crate) struct Acceptor<L> {
    raw: L,
    gate: Arc<Gate>,
    handshakes: JoinSet<Result<Link, ()>>,
    half_open: HashMap<Id, HalfOpen>,
    /// Accepted, and there is no room for it yet.
    waiting: Option<Incoming>,
    paused_until: Option<Instant>,
    /// Peers whose patience ended by then have had their chance: whatever they had sent until
    /// then has been read. Later than that, silence may be our own being busy.
    all_heard: Instant,
}

struct HalfOpen {
    source: Source,
    watch: Arc<Watch>,
    task: AbortHandle,
}

impl<L: RawListener> Acceptor<L> {
    pub(crate) fn new(raw: L, gate: Gate) -> Self {
        Self {
            raw,
            gate: Arc::new(gate),
            handshakes: JoinSet::new(),
            half_open: HashMap::new(),
            waiting: None,
            paused_until: None,
            all_heard: Instant::now(),
        }
    }

    /// See [`Listener::accept`](crate::Listener::accept).
    pub(crate) async fn accept(&mut self) -> Result<Link, AcceptError> {
        loop {
            let wake = self.admit_waiting().or(self.paused_until);
            let may_accept = self.waiting.is_none() && self.paused_until.is_none();
            tokio::select! {
                Some(done) = self.handshakes.join_next_with_id() => {
                    if let Some(link) = self.finished(done) {
                        return Ok(link);
                    }
                }
                incoming = self.raw.accept(), if may_accept => match incoming {
                    Ok(incoming) => self.waiting = Some(incoming),
                    Err(e) => self.accept_failed(e)?,
                },
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {
                    self.paused_until = None;
                    // A timer fires after a look at the sockets, which has woken all whose bytes
                    // are there. They run before this goes on.
                    let heard = Instant::now();
                    yield_now().await;
                    self.all_heard = heard;
                }
            }
        }
    }

    fn finished(&mut self, done: Result<(Id, Result<Link, ()>), JoinError>) -> Option<Link> {
        let (id, link) = match done {
            Ok((id, result)) => (id, result.ok()),
            Err(e) => (e.id(), None),
        };
        self.half_open.remove(&id);
        link
    }

    fn accept_failed(&mut self, error: io::Error) -> Result<(), AcceptError> {
        match error.raw_os_error() {
            Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM) => {
                tracing::warn!("accepting paused: {error}");
                self.paused_until = Some(Instant::now() + PAUSE);
                Ok(())
            }
            Some(libc::EBADF | libc::EINVAL | libc::ENOTSOCK | libc::EOPNOTSUPP) => Err(error.into()),
            // That one connection failed, or comes from another user; the next may be better.
            _ => {
                tracing::debug!("connection dropped: {error}");
                Ok(())
            }
        }
    }

    /// Starts the handshake of the waiting connection, if there is room or somebody's patience is
    /// at its end. Otherwise tells when to look again.
    fn admit_waiting(&mut self) -> Option<Instant> {
        let incoming = self.waiting.take()?;
        if let Some(source) = self.crowded(incoming.source) {
            match self.next_victim(source) {
                Some((id, until)) if until <= self.all_heard => {
                    if let Some(victim) = self.half_open.remove(&id) {
                        victim.task.abort();
                    }
                }
                other => {
                    self.waiting = Some(incoming);
                    return Some(other.map_or_else(|| Instant::now() + PATIENCE, |(_, until)| until));
                }
            }
        }
        self.start(incoming);
        None
    }

    /// The source that must give up a place for a newcomer, if there is no room.
    fn crowded(&self, newcomer: Source) -> Option<Source> {
        let mut counts: HashMap<Source, usize> = HashMap::new();
        for entry in self.half_open.values() {
            *counts.entry(entry.source).or_default() += 1;
        }
        if newcomer != Source::Own && counts.get(&newcomer) >= Some(&HALF_OPEN_PER_SOURCE_MAX) {
            return Some(newcomer);
        }
        if self.half_open.len() < HALF_OPEN_MAX {
            return None;
        }
        counts.into_iter().max_by_key(|(_, count)| *count).map(|(source, _)| source)
    }

    /// Who of this source runs out of patience first, and when.
    fn next_victim(&self, source: Source) -> Option<(Id, Instant)> {
        self.half_open
            .iter()
            .filter(|(_, entry)| entry.source == source)
            .filter_map(|(id, entry)| Some((*id, entry.until()?)))
            .min_by_key(|(_, until)| *until)
    }

    fn start(&mut self, incoming: Incoming) {
        let Incoming { halves, source } = incoming;
        let watch = Arc::new(Watch::default());
        let (gate, shown) = (self.gate.clone(), watch.clone());
        let task = self.handshakes.spawn(async move {
            let address = halves.address.clone();
            respond_watched(halves, &gate, &shown).await.map_err(|e| log_failure(&address, &e))
        });
        let entry = HalfOpen { source, watch, task: task.clone() };
        self.half_open.insert(task.id(), entry);
    }
}

impl HalfOpen {
    /// When our patience with this peer ends; not yet known while it is our turn.
    fn until(&self) -> Option<Instant> {
        let (since, has_key) = self.watch.peer_owes_since()?;
        Some(since + if has_key { PATIENCE_WITH_KEY } else { PATIENCE })
    }
}

/// At most one line per peer, and only those with a key of ours can make it a visible one.
fn log_failure(address: &str, error: &HandshakeError) {
    match error {
        HandshakeError::Refused(refusal) => tracing::warn!("refused {address}: {refusal}"),
        other => tracing::debug!("dropped {address}: {other}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Mutex;

    use super::*;
    use crate::identity::Identity;
    use crate::keys::ServerKeys;
    use crate::peer::{Role, Versions};
    use crate::stream::initiate;

    /// Gives these results, one per call, and then nothing more.
    struct Script(Mutex<VecDeque<io::Result<Incoming>>>);

    #[async_trait]
    impl RawListener for Script {
        async fn accept(&self) -> io::Result<Incoming> {
            let next = self.0.lock().unwrap().pop_front();
            match next {
                Some(result) => result,
                None => std::future::pending().await,
            }
        }
    }

    fn incoming(stream: tokio::io::DuplexStream, last_byte: u8) -> Incoming {
        let (reader, writer) = tokio::io::split(stream);
        let halves = Halves { reader: Box::new(reader), writer: Box::new(writer), address: "peer".into() };
        Incoming { halves, source: IpAddr::from([10, 0, 0, last_byte]).into() }
    }

    fn acceptor(script: impl IntoIterator<Item = io::Result<Incoming>>) -> Acceptor<Script> {
        let script = Script(Mutex::new(script.into_iter().collect()));
        let gate = Gate { role: Role::Client, versions: Versions::current("1"), keys: Arc::new(ServerKeys::none()) };
        Acceptor::new(script, gate)
    }

    async fn connect(stream: tokio::io::DuplexStream) -> Result<Link, HandshakeError> {
        let (reader, writer) = tokio::io::split(stream);
        let identity = Identity { role: Role::Client, versions: Versions::current("1"), key: None };
        initiate(reader, writer, "server".into(), &identity).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_lack_of_descriptors_is_waited_out() {
        let (near, far) = tokio::io::duplex(1000);
        let lack = |code| Err(io::Error::from_raw_os_error(code));
        let script = [lack(libc::EMFILE), lack(libc::ENFILE), lack(libc::ECONNABORTED), Ok(incoming(far, 1))];
        let mut acceptor = acceptor(script);
        let start = Instant::now();
        let (near, far) = tokio::join!(connect(near), acceptor.accept());
        near.unwrap();
        far.unwrap();
        assert_eq!(start.elapsed(), 2 * PAUSE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_broken_listener_ends() {
        let mut acceptor = acceptor([Err(io::Error::from_raw_os_error(libc::EBADF))]);
        assert!(matches!(acceptor.accept().await, Err(AcceptError::Io(_))));
    }

    #[tokio::test(start_paused = true)]
    async fn the_busiest_source_gives_way() {
        // 150 silent peers of one source and 106 of another: all places are taken.
        let (silent, mut script): (Vec<_>, Vec<_>) = (0..HALF_OPEN_MAX)
            .map(|n| {
                let (near, far) = tokio::io::duplex(1000);
                (near, Ok(incoming(far, u8::from(n < 150))))
            })
            .unzip();
        let (near, far) = tokio::io::duplex(1000);
        script.push(Ok(incoming(far, 9)));
        let mut acceptor = acceptor(script);
        let start = Instant::now();
        let (near, far) = tokio::join!(connect(near), acceptor.accept());
        near.unwrap();
        far.unwrap();
        assert_eq!(start.elapsed(), PATIENCE);
        let count = |last_byte| {
            let source = Source::from(IpAddr::from([10, 0, 0, last_byte]));
            acceptor.half_open.values().filter(|entry| entry.source == source).count()
        };
        assert_eq!((count(1), count(0)), (149, 106));
        drop(silent);
    }

    #[tokio::test(start_paused = true)]
    async fn a_crowd_of_silent_peers_is_gone_through_in_half_a_second() {
        let (silent, mut script): (Vec<_>, Vec<_>) = (0..3000)
            .map(|_| {
                let (near, far) = tokio::io::duplex(1000);
                (near, Ok(incoming(far, 1)))
            })
            .unzip();
        let (near, far) = tokio::io::duplex(1000);
        script.push(Ok(incoming(far, 1)));
        let mut acceptor = acceptor(script);
        let start = Instant::now();
        let (near, far) = tokio::join!(connect(near), acceptor.accept());
        near.unwrap();
        far.unwrap();
        assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
        drop(silent);
    }

    #[test]
    fn sources() {
        let source = |text: &str| Source::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(source("::ffff:10.0.0.1"), source("10.0.0.1"));
        assert_eq!(source("2001:db8::1"), source("2001:db8::ffff:1"));
        assert_ne!(source("2001:db8::1"), source("2001:db8:0:1::1"));
    }
}

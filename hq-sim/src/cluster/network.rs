use std::collections::BTreeMap;

use hq_core::{LinkId, Rng, Span, Tick, WorkerId};

/// Who is at the other end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    Worker(usize),
    Client(usize),
}

/// A link between the server and a peer, as both its ends see it.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) peer: Peer,
    /// The life of the server that it leads to.
    pub(super) life: u64,
    /// Who the server takes the worker for.
    pub(super) worker: Option<WorkerId>,
    /// Nothing comes through in either direction, and neither end knows.
    pub(super) is_dark: bool,
    /// It broke: what was under way is lost, and both ends learn of it.
    pub(super) is_cut: bool,
    /// The server still uses it.
    pub(super) server_open: bool,
    /// The peer still uses it.
    pub(super) peer_open: bool,
    up: Tick,
    down: Tick,
}

/// All links there ever were.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) links: BTreeMap<LinkId, Link>,
    delay: (Span, Span),
    rng: Rng,
}

impl Network {
    pub(super) fn new(delay: (Span, Span), rng: Rng) -> Self {
        Self { links: BTreeMap::new(), delay, rng }
    }

    pub(super) fn open(&mut self, peer: Peer, life: u64) -> LinkId {
        let id = LinkId(self.links.len() as u64 + 1);
        let link = Link {
            peer,
            life,
            worker: None,
            is_dark: false,
            is_cut: false,
            server_open: true,
            peer_open: true,
            up: Tick(0),
            down: Tick(0),
        };
        self.links.insert(id, link);
        id
    }

    /// When something that leaves the peer now reaches the server; none in the dark.
    pub(super) fn up(&mut self, now: Tick, link: LinkId) -> Option<Tick> {
        let at = self.arrival(now);
        let link = self.links.get_mut(&link).filter(|link| !link.is_dark)?;
        link.up = link.up.max(at);
        Some(link.up)
    }

    /// When something that leaves the server now reaches the peer; none in the dark.
    pub(super) fn down(&mut self, now: Tick, link: LinkId) -> Option<Tick> {
        let at = self.arrival(now);
        let link = self.links.get_mut(&link).filter(|link| !link.is_dark)?;
        link.down = link.down.max(at);
        Some(link.down)
    }

    /// Any time that a message may take from now.
    pub(super) fn arrival(&mut self, now: Tick) -> Tick {
        now.after(Span(self.rng.range(self.delay.0.0, self.delay.1.0)))
    }

    /// From now on each message takes the shortest time.
    pub(super) fn heal(&mut self) {
        self.delay.1 = self.delay.0;
    }
}

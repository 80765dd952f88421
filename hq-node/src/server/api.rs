use std::sync::Arc;

use hq_core::{Call, FromWorker, LinkId, QueueSpec, Record, Reply, RequestId, Seq, ServerInfo, Span, ToWorker};
use hq_scheduler::autoscale::{ScaleNews, ScaleOrder};

/// How a server is set up.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Answered to [`ClientRequest::ServerInfo`](hq_core::ClientRequest::ServerInfo); its uid is used for a new
    /// journal, an old one keeps its own. `started` is the wall clock at the boot.
    pub info: ServerInfo,
    /// Whether what is appended becomes durable only by [`ServerInput::Durable`]; else at once.
    pub journal: bool,
    /// For workers that have none of their own.
    pub idle_timeout: Option<Span>,
    /// Bytes of past events that are kept for subscribers.
    pub feed_bytes: usize,
    /// Seed of session tokens; from the system's generator in production, and a secret.
    pub token_seed: u64,
    /// How long a server that begins anew waits for workers of its former life that may come back.
    pub adopt_timeout: Span,
}

/// Which side of the engine a link belongs to; authenticated by the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PeerRole {
    /// A worker: may only do what workers do.
    Worker,
    /// A client of the owner: may do everything.
    Client,
}

/// News for a server.
#[derive(Clone, Debug)]
pub enum ServerInput {
    /// The journal has left out what is over, or why not.
    Pruned {
        /// Link of the client that wanted it.
        link: LinkId,
        /// Its call.
        id: RequestId,
        /// One line for people.
        result: Result<(), String>,
    },
    /// A peer is there.
    LinkUp {
        /// Name of the link, never used again.
        link: LinkId,
        /// Its role.
        role: PeerRole,
        /// The version of the messages that it speaks; it hears no others.
        protocol: u16,
    },
    /// A worker says this, in order.
    FromWorker {
        /// Its link.
        link: LinkId,
        /// What it says.
        messages: Vec<FromWorker>,
    },
    /// A client asks this, in order.
    FromClient {
        /// Its link.
        link: LinkId,
        /// What it asks.
        calls: Vec<Call>,
    },
    /// A link is gone, cleanly or not.
    LinkDown {
        /// Which.
        link: LinkId,
    },
    /// Everything up to this number is safe.
    Durable {
        /// The last safe one.
        seq: Seq,
    },
    /// Nothing more can be made safe: the server goes read-only.
    JournalFailed {
        /// Why, in one line.
        reason: String,
    },
    /// Another server has the journal, and with it the workers and allocations: this one ends at once, as if it had been
    /// killed, and tells nobody to do anything.
    JournalTaken {
        /// By whom, in one line.
        reason: String,
    },
    /// A backend says this.
    Backend(BackendNews),
    /// The process was told to end: as after [`ClientRequest::StopServer`](hq_core::ClientRequest::StopServer).
    Interrupted,
}

/// What a server's shell has to do, in order.
#[derive(Clone, Debug)]
pub enum ServerOutput {
    /// Append to the journal. The order of these is the order of the file.
    Append {
        /// Number of the first record.
        first_seq: Seq,
        /// One whole step: in the journal together or not at all.
        records: Vec<Record>,
    },
    /// Tell a worker.
    ToWorker {
        /// Its link.
        link: LinkId,
        /// What.
        messages: Vec<ToWorker>,
    },
    /// Answer a client.
    ToClient {
        /// Its link.
        link: LinkId,
        /// What.
        replies: Vec<Reply>,
    },
    /// End a link after what was sent before.
    CloseLink {
        /// Which.
        link: LinkId,
    },
    /// Let the journal leave out what is over, as far as it was appended before; [`ServerInput::Pruned`] tells what came of
    /// it.
    Prune {
        /// Link of the client that wants it.
        link: LinkId,
        /// Its call.
        id: RequestId,
    },
    /// Ask a backend; answered by [`ServerInput::Backend`].
    Backend(BackendOrder),
    /// Tell people: one line. Nothing has to be done.
    Warn(String),
    /// The server is done: send what was sent before, end all links, leave. The last output.
    Stop,
}

/// What a backend is to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackendOrder {
    /// For a queue.
    Scale(ScaleOrder),
    /// See whether it takes an allocation of such a queue.
    Try {
        /// Comes back with the answer.
        token: u64,
        /// How it would ask.
        spec: Arc<QueueSpec>,
    },
}

/// What a backend says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackendNews {
    /// About a queue.
    Scale(ScaleNews),
    /// What came of a trial.
    Tried {
        /// Of the order.
        token: u64,
        /// Why it would not be taken.
        error: Option<String>,
    },
}

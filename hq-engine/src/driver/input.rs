use hq_core::{Call, ClientReply, ClientRequest, FromWorker, LinkId, RequestId, Seq};
use hq_transport::{Link, Listener, Role};
use tokio::sync::{mpsc, oneshot};

use super::WorkerTask;
use crate::{job::Handed, serve::Serving};

/// What reaches the driver through its queue.
pub(crate) enum Input {
    /// A peer is there.
    Attach { link: Link, role: Role },
    /// A worker says this.
    FromWorker { link: LinkId, messages: Vec<FromWorker> },
    /// A client on a link asks this.
    FromClient { link: LinkId, calls: Vec<Call> },
    /// A link is gone.
    Down { link: LinkId },
    /// A handle of this process asks this.
    Ask { id: RequestId, request: ClientRequest, answer: Answer },
    /// Run this worker in here.
    Worker(WorkerTask),
    /// What became of the journal.
    Pruned { link: LinkId, id: RequestId, result: Result<(), String> },
    /// Take peers in from here on.
    Serve { serving: Serving, listeners: Vec<(Box<dyn Listener>, Role)> },
}

/// Who waits for replies in this process.
pub(crate) enum Answer {
    /// For one.
    Once(oneshot::Sender<Answered>),
    /// For events; there is room for as many batches as there is credit, and one more.
    Events(mpsc::Sender<Feed>),
    /// Nobody; this is kept until there is a reply.
    Keep(#[expect(dead_code, reason = "held only to be dropped with the reply")] Handed),
    /// Nobody.
    Nobody,
}

/// A reply, and the number of the next event when the request came in.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) reply: ClientReply,
    pub(crate) since: Seq,
}

/// What a subscription brings.
#[derive(Debug)]
pub(crate) enum Feed {
    Events(Vec<hq_core::Event>),
    /// Some are missing before what follows.
    Reset,
}

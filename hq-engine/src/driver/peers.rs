use std::collections::BTreeMap;

use hq_core::{Call, FromWorker, LinkId, Reply, ToWorker};
use hq_node::PeerRole;
use hq_transport::{Link, Role};
use tokio::{
    sync::mpsc,
    task::{AbortHandle, JoinSet},
};

use super::{
    Input,
    link::{QUEUE_MAX, carry, flushed},
};

/// All links and the tasks that carry them.
pub(super) struct Peers {
    last: LinkId,
    peers: BTreeMap<LinkId, Peer>,
    tasks: JoinSet<()>,
    inputs: mpsc::WeakSender<Input>,
}

struct Peer {
    queue: Queue,
    task: AbortHandle,
}

enum Queue {
    Worker(mpsc::Sender<Vec<ToWorker>>),
    Client(mpsc::Sender<Vec<Reply>>),
}

/// The queue of a peer is full: it was cut off.
pub(super) struct CutOff;

impl Peers {
    /// None yet; `last` is the largest link id that is taken.
    pub(super) fn new(last: LinkId, inputs: mpsc::WeakSender<Input>) -> Self {
        Self { last, peers: BTreeMap::new(), tasks: JoinSet::new(), inputs }
    }

    /// Begins to carry a link.
    pub(super) fn attach(&mut self, link: Link, role: Role) -> Option<(LinkId, PeerRole)> {
        let inputs = self.inputs.upgrade()?;
        self.last.0 += 1;
        let id = self.last;
        let (queue, task, role) = match role {
            Role::Worker => {
                let (sender, queue) = mpsc::channel(QUEUE_MAX);
                let input = |link, messages: Vec<FromWorker>| Input::FromWorker { link, messages };
                let task = self.tasks.spawn(carry(id, link, queue, None, inputs, input));
                (Queue::Worker(sender), task, PeerRole::Worker)
            }
            Role::Client => {
                let (sender, queue) = mpsc::channel(QUEUE_MAX);
                let room = Some(sender.downgrade());
                let input = |link, calls: Vec<Call>| Input::FromClient { link, calls };
                let task = self.tasks.spawn(carry(id, link, queue, room, inputs, input));
                (Queue::Client(sender), task, PeerRole::Client)
            }
        };
        self.peers.insert(id, Peer { queue, task });
        Some((id, role))
    }

    pub(super) fn tell_worker(&mut self, link: LinkId, messages: Vec<ToWorker>) -> Result<(), CutOff> {
        match self.peers.get(&link) {
            Some(Peer { queue: Queue::Worker(queue), .. }) if queue.try_send(messages).is_err() => self.cut(link),
            _ => Ok(()),
        }
    }

    pub(super) fn tell_client(&mut self, link: LinkId, replies: Vec<Reply>) -> Result<(), CutOff> {
        match self.peers.get(&link) {
            Some(Peer { queue: Queue::Client(queue), .. }) if queue.try_send(replies).is_err() => self.cut(link),
            _ => Ok(()),
        }
    }

    /// Ends a link after what was said before.
    pub(super) fn close(&mut self, link: LinkId) {
        self.peers.remove(&link);
    }

    fn cut(&mut self, link: LinkId) -> Result<(), CutOff> {
        if let Some(peer) = self.peers.remove(&link) {
            peer.task.abort();
        }
        Err(CutOff)
    }

    /// Forgets what a task that has ended leaves behind; pends while there is none.
    pub(super) async fn reap(&mut self) {
        if self.tasks.join_next().await.is_none() {
            std::future::pending::<()>().await;
        }
    }

    /// Says good-bye to all, waits until that is sent, and ends the links.
    pub(super) async fn end(mut self) {
        self.peers.clear();
        flushed(async { while self.tasks.join_next().await.is_some() {} }).await;
        self.tasks.shutdown().await;
    }
}

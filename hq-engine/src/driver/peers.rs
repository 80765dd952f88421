use std::collections::BTreeMap;

use hq_core::{Call, FromWorker, LinkId, Reply, ToWorker};
use hq_node::PeerRole;
use hq_transport::{Link, Role};
use tokio::{
    sync::mpsc::{self, error::TrySendError},
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

    /// Queues this for a worker.
    ///
    /// # Errors
    /// Its queue is full: it was cut off. A link that has ended is no error: what its peer said last, and its end, are
    /// on their way to the driver.
    pub(super) fn tell_worker(&mut self, link: LinkId, messages: Vec<ToWorker>) -> Result<(), CutOff> {
        match self.peers.get(&link) {
            Some(Peer { queue: Queue::Worker(queue), .. }) if is_full(queue.try_send(messages)) => self.cut(link),
            _ => Ok(()),
        }
    }

    /// Queues this for a client, as [`tell_worker`](Self::tell_worker) does.
    pub(super) fn tell_client(&mut self, link: LinkId, replies: Vec<Reply>) -> Result<(), CutOff> {
        match self.peers.get(&link) {
            Some(Peer { queue: Queue::Client(queue), .. }) if is_full(queue.try_send(replies)) => self.cut(link),
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

fn is_full<T>(sent: Result<(), TrySendError<T>>) -> bool {
    matches!(sent, Err(TrySendError::Full(_)))
}

#[cfg(test)]
mod tests {
    use hq_core::LossReason;
    use hq_transport::{TypedSender, Versions, memory};

    use super::*;

    const FIRST: LinkId = LinkId(2);

    fn peers() -> (Peers, mpsc::Sender<Input>, mpsc::Receiver<Input>) {
        let (sender, inputs) = mpsc::channel(8);
        (Peers::new(LinkId(1), sender.downgrade()), sender, inputs)
    }

    #[tokio::test]
    async fn what_a_peer_said_before_it_went_is_heard_before_its_end() {
        let (mut peers, _sender, mut inputs) = peers();
        let (theirs, ours) = memory::pair(Role::Worker, Versions::current("test"));
        peers.attach(ours, Role::Worker);
        let mut worker = TypedSender::<FromWorker>::new(theirs.sender);
        worker.send(&[FromWorker::Leaving { reason: LossReason::TimeLimitReached }]).await.expect("said");
        drop((worker, theirs.receiver));
        // The task that carried the link has ended, and the driver has not yet looked into its queue.
        peers.reap().await;
        assert!(peers.tell_worker(FIRST, vec![ToWorker::Heartbeat]).is_ok(), "cut off before it was heard");
        let Some(Input::FromWorker { link: FIRST, messages }) = inputs.recv().await else { panic!("not heard") };
        assert_eq!(messages, [FromWorker::Leaving { reason: LossReason::TimeLimitReached }]);
        assert!(matches!(inputs.recv().await, Some(Input::Down { link: FIRST })));
    }

    #[tokio::test]
    async fn a_peer_that_takes_nothing_is_cut_off() {
        let (mut peers, _sender, _inputs) = peers();
        let (_theirs, ours) = memory::pair(Role::Client, Versions::current("test"));
        peers.attach(ours, Role::Client);
        // The task has not run yet, so nothing leaves the queue.
        let mut tell = || peers.tell_client(FIRST, vec![]);
        assert!((0..QUEUE_MAX).all(|_| tell().is_ok()));
        assert!(tell().is_err());
        assert!(tell().is_ok(), "it is forgotten");
    }
}

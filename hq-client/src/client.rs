use hq_core::{Call, ClientReply, ClientRequest, RequestId};
use hq_transport::{Link, LinkError, SendError, TypedReceiver, TypedSender};
use tokio::{sync::mpsc, task::JoinHandle};

use crate::{CallError, router::Router};

/// Calls that may wait to be sent before callers wait.
const CALLS_MAX: usize = 64;

/// A live link to a server. Any number of calls can be in flight.
///
/// Needs a tokio runtime. Two small tasks carry the link; they end when the client is closed or dropped.
#[derive(Debug)]
pub struct Client {
    pub(crate) calls: mpsc::Sender<Call>,
    pub(crate) router: Router,
    writer: JoinHandle<()>,
    reader: JoinHandle<()>,
}

impl Client {
    /// A client over a link that is already there.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn over(link: Link) -> Self {
        let (calls, queue) = mpsc::channel(CALLS_MAX);
        let router = Router::default();
        let writer = tokio::spawn(write(TypedSender::new(link.sender), queue, router.clone()));
        let reader = tokio::spawn(read(TypedReceiver::new(link.receiver), router.clone()));
        Self { calls, router, writer, reader }
    }

    /// Asks and waits for the answer.
    ///
    /// # Errors
    /// A refusal is an error, too; see [`CallError`].
    ///
    /// # Cancel safety
    /// Dropped, it tells the server that nobody waits any more; what was asked for may have been done.
    pub async fn call(&self, request: ClientRequest) -> Result<ClientReply, CallError> {
        let (id, reply) = self.router.expect_reply()?;
        let mut waiting = Waiting { client: self, id, is_sent: false };
        self.send(Call { id, request }).await?;
        waiting.is_sent = true;
        reply.await.unwrap_or_else(|_| Err(lost()))
    }

    /// Says good-bye and ends the link. Calls in flight fail.
    pub async fn close(mut self) {
        // The writer ends with its queue.
        let (closed, _) = mpsc::channel(1);
        self.calls = closed;
        let _ = (&mut self.writer).await;
    }

    pub(crate) async fn send(&self, call: Call) -> Result<(), CallError> {
        self.calls.send(call).await.map_err(|_| lost())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.writer.abort();
        self.reader.abort();
        self.router.lose("this client was closed");
    }
}

/// Abandons a call that is dropped before its answer.
struct Waiting<'a> {
    client: &'a Client,
    id: RequestId,
    is_sent: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.client.router.forget(self.id) && self.is_sent {
            abandon(&self.client.calls, self.id);
        }
    }
}

/// Tells the server that nobody waits for that call. Where the queue is full the server finds out by the answer.
pub(crate) fn abandon(calls: &mpsc::Sender<Call>, id: RequestId) {
    // Its own number is 0: no answer is expected.
    let _ = calls.try_send(Call { id: RequestId(0), request: ClientRequest::Abandon(id) });
}

pub(crate) fn lost() -> CallError {
    CallError::Lost("the link is closed".to_owned())
}

async fn write(mut sender: TypedSender<Call>, mut queue: mpsc::Receiver<Call>, router: Router) {
    let mut calls = Vec::new();
    while queue.recv_many(&mut calls, CALLS_MAX).await > 0 {
        // One by one: a call that is too large is refused alone.
        for call in calls.drain(..) {
            match sender.send(std::slice::from_ref(&call)).await {
                Ok(()) => {}
                Err(SendError::Link(e @ LinkError::BatchTooLarge { .. })) => {
                    router.reject(call.id, CallError::Unsendable(e.to_string()));
                }
                Err(SendError::Wire(e)) => router.reject(call.id, CallError::Unsendable(e.to_string())),
                Err(SendError::Link(e)) => return router.lose(&e.to_string()),
                Err(e) => return router.lose(&e.to_string()),
            }
        }
    }
    sender.close().await;
}

async fn read(mut receiver: TypedReceiver<hq_core::Reply>, router: Router) {
    loop {
        match receiver.recv().await {
            Ok(Some(replies)) => replies.into_iter().for_each(|reply| router.deliver(reply)),
            Ok(None) => return router.lose("the server closed it"),
            Err(e) => return router.lose(&e.to_string()),
        }
    }
}

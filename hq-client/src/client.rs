use std::{pin::pin, time::Duration};

use hq_core::{Call, ClientReply, ClientRequest, RequestId};
use hq_transport::{Link, LinkError, SendError, TypedReceiver, TypedSender};
use tokio::{
    sync::{Notify, mpsc, oneshot},
    task::JoinHandle,
    time::{sleep, timeout},
};

use crate::{CallError, router::Router};

/// Calls that may wait to be sent before callers wait.
const CALLS_MAX: usize = 64;
/// Time for the good-bye to go out; and for the server's last words to be read from a link that takes nothing more.
const LINGER: Duration = Duration::from_secs(1);

/// A live link to a server. Any number of calls can be in flight.
///
/// Needs a tokio runtime. Two small tasks carry the link. Dropped, the client says good-bye if the runtime lives on for a
/// moment; [`close`](Self::close) waits until it is said.
#[derive(Debug)]
pub struct Client {
    pub(crate) calls: mpsc::Sender<Call>,
    pub(crate) router: Router,
    /// Its end is that of the client.
    open: Option<oneshot::Sender<()>>,
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
        let (open, end) = oneshot::channel();
        let writer = tokio::spawn(write(TypedSender::new(link.sender), queue, router.clone(), end));
        let reader = tokio::spawn(read(TypedReceiver::new(link.receiver), router.clone()));
        Self { calls, router, open: Some(open), writer, reader }
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

    /// Says good-bye and ends the link. Calls in flight fail. A server that takes nothing is not waited for long.
    pub async fn close(mut self) {
        self.open = None;
        let _ = (&mut self.writer).await;
    }

    /// Whether it is known that the link has ended: each call and stream then ends with [`CallError::Lost`].
    pub fn is_lost(&self) -> bool {
        self.router.is_lost()
    }

    pub(crate) async fn send(&self, call: Call) -> Result<(), CallError> {
        self.calls.send(call).await.map_err(|_| lost())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // The writer says good-bye by itself.
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

/// Sends what is in `queue` until that or the client ends, and says good-bye.
async fn write(
    mut sender: TypedSender<Call>,
    mut queue: mpsc::Receiver<Call>,
    router: Router,
    end: oneshot::Receiver<()>,
) {
    let closing = Notify::new();
    let mut sending = pin!(async {
        if let Err(reason) = send_all(&mut sender, &mut queue, &router, &closing).await {
            // What the server said last may be on its way still, and tells more than that it does not listen.
            sleep(LINGER).await;
            router.lose(&reason);
        }
        sender.close().await;
    });
    tokio::select! {
        () = &mut sending => {}
        _ = end => {
            closing.notify_one();
            let _ = timeout(LINGER, sending).await;
        }
    }
}

/// # Errors
/// The link takes nothing more.
async fn send_all(
    sender: &mut TypedSender<Call>,
    queue: &mut mpsc::Receiver<Call>,
    router: &Router,
    closing: &Notify,
) -> Result<(), String> {
    let mut calls = Vec::new();
    loop {
        tokio::select! {
            count = queue.recv_many(&mut calls, CALLS_MAX) => if count == 0 { return Ok(()) },
            // Streams may hold on to the queue.
            () = closing.notified() => queue.close(),
        }
        // One by one: a call that is too large is refused alone.
        for call in calls.drain(..) {
            match sender.send(std::slice::from_ref(&call)).await {
                Ok(()) => {}
                Err(SendError::Link(e @ LinkError::BatchTooLarge { .. })) => {
                    router.reject(call.id, CallError::Unsendable(e.to_string()));
                }
                Err(SendError::Wire(e)) => router.reject(call.id, CallError::Unsendable(e.to_string())),
                Err(e) => return Err(e.to_string()),
            }
        }
    }
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

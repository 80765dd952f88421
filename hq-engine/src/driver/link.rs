use std::{pin::pin, time::Duration};

use hq_core::LinkId;
use hq_transport::{Link, LinkError, SendError, TypedReceiver, TypedSender};
use serde::{Serialize, de::DeserializeOwned};
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};

use super::Input;

/// Batches of one peer that may wait to be sent. A peer that lets it fill up is cut off.
pub(super) const QUEUE_MAX: usize = 1024;
/// Batches that are sent as one, if they are there.
const JOINED_MAX: usize = 64;
/// Time for a peer to close its side after we closed ours.
const LINGER: Duration = Duration::from_secs(1);
/// Time for what was said last to reach a peer that does not read.
const FLUSH: Duration = Duration::from_secs(5);

/// Carries one link until either side ends it: what the peer says goes to `inputs`, what is in `queue` goes to the
/// peer. The end of `queue` is the good-bye.
///
/// A slow driver makes the peer wait; with `answers` (a client) so does a peer that does not read its replies.
pub(super) async fn carry<In, Out>(
    id: LinkId,
    link: Link,
    mut queue: mpsc::Receiver<Vec<Out>>,
    room: Option<mpsc::WeakSender<Vec<Out>>>,
    inputs: mpsc::Sender<Input>,
    input: fn(LinkId, Vec<In>) -> Input,
) where
    In: DeserializeOwned,
    Out: Serialize,
{
    let mut receiver = TypedReceiver::<In>::new(link.receiver);
    let mut sender = TypedSender::<Out>::new(link.sender);
    let reading = async {
        loop {
            if let Some(queue) = room.as_ref().and_then(mpsc::WeakSender::upgrade) {
                // Nothing more is taken in from who does not take what comes out.
                let _ = queue.reserve_many(QUEUE_MAX / 2).await;
            }
            match receiver.recv().await {
                Ok(Some(messages)) => {
                    // At the engine's end nobody listens any more, and what is said last still goes out.
                    let _ = inputs.send(input(id, messages)).await;
                }
                Ok(None) => break,
                Err(e) => {
                    tracing::debug!("link {id} of {}: {e}", link.peer.address);
                    break;
                }
            }
        }
    };
    let writing = async {
        let mut batches = Vec::new();
        while queue.recv_many(&mut batches, JOINED_MAX).await > 0 {
            let messages: Vec<Out> = batches.drain(..).flatten().collect();
            if let Err(e) = send(&mut sender, &messages).await {
                tracing::debug!("link {id} of {}: {e}", link.peer.address);
                return;
            }
        }
        sender.close().await;
    };
    let (mut reading, mut writing) = (pin!(reading), pin!(writing));
    tokio::select! {
        () = &mut reading => {}
        () = &mut writing => {
            let _ = timeout(LINGER, reading).await;
        }
    }
    let _ = inputs.send(Input::Down { link: id }).await;
}

/// Sends all of `messages`, in as many batches as it takes.
async fn send<T: Serialize>(sender: &mut TypedSender<T>, messages: &[T]) -> Result<(), SendError> {
    let mut parts = vec![messages];
    while let Some(part) = parts.pop() {
        match sender.send(part).await {
            Err(SendError::Link(LinkError::BatchTooLarge { .. })) if part.len() > 1 => {
                let (first, second) = part.split_at(part.len() / 2);
                parts.extend([second, first]);
            }
            other => other?,
        }
    }
    Ok(())
}

/// Waits for the links to say their last words, but not for ever.
pub(super) async fn flushed(all: impl Future<Output = ()>) {
    tokio::select! {
        () = all => {}
        () = sleep(FLUSH) => tracing::debug!("some peers did not take what was said last"),
    }
}

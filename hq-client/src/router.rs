use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use hq_core::{ClientReply, Reply, RequestId};
use tokio::sync::{mpsc, oneshot};

use crate::{CallError, EventBatch};

/// Who waits for which reply. Shared by all calls and the task that reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Router(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    last: u64,
    waiters: HashMap<RequestId, Waiter>,
    /// Set once the link is gone: nobody waits any more.
    lost: Option<String>,
}

#[derive(Debug)]
enum Waiter {
    Call(oneshot::Sender<Result<ClientReply, CallError>>),
    Events(mpsc::Sender<Result<EventBatch, CallError>>),
    Outputs(mpsc::Sender<Result<ClientReply, CallError>>),
}

impl Router {
    /// Waits for one reply.
    pub(crate) fn expect_reply(
        &self,
    ) -> Result<(RequestId, oneshot::Receiver<Result<ClientReply, CallError>>), CallError> {
        let (sender, receiver) = oneshot::channel();
        Ok((self.add(Waiter::Call(sender))?, receiver))
    }

    /// Waits for batches of events, at most `room` at a time.
    pub(crate) fn expect_events(
        &self,
        room: u32,
    ) -> Result<(RequestId, mpsc::Receiver<Result<EventBatch, CallError>>), CallError> {
        // One more for the word that the link is lost, one for a reset.
        let (sender, receiver) = mpsc::channel(room as usize + 2);
        Ok((self.add(Waiter::Events(sender))?, receiver))
    }

    /// Waits for what programs print, at most `room` pieces at a time.
    pub(crate) fn expect_outputs(
        &self,
        room: u32,
    ) -> Result<(RequestId, mpsc::Receiver<Result<ClientReply, CallError>>), CallError> {
        // Some more for the answer to the submit, the end, and the word that the link is lost.
        let (sender, receiver) = mpsc::channel(room as usize + 3);
        Ok((self.add(Waiter::Outputs(sender))?, receiver))
    }

    /// Nobody waits for that reply any more; says whether somebody did.
    pub(crate) fn forget(&self, id: RequestId) -> bool {
        self.waiting().waiters.remove(&id).is_some()
    }

    /// Hands a reply to who waits for it. One that nobody waits for is dropped.
    pub(crate) fn deliver(&self, Reply { id, reply }: Reply) {
        let mut waiting = self.waiting();
        if let Some(Waiter::Outputs(sender)) = waiting.waiters.get(&id) {
            let goes_on = matches!(reply, ClientReply::Outputs(_) | ClientReply::Submitted { .. });
            let result = match reply {
                ClientReply::Refused(refusal) => Err(CallError::Refused(refusal)),
                reply => Ok(reply),
            };
            // As with events, a server that sends more than its credit is not heard any more.
            if sender.try_send(result).is_err() || !goes_on {
                waiting.waiters.remove(&id);
            }
            return;
        }
        let batch = match reply {
            ClientReply::Events(events) => Ok(EventBatch::Events(events)),
            ClientReply::Reset { next } => Ok(EventBatch::Reset { next }),
            reply => {
                let result = match reply {
                    ClientReply::Refused(refusal) => Err(CallError::Refused(refusal)),
                    reply => Ok(reply),
                };
                match waiting.waiters.remove(&id) {
                    Some(Waiter::Call(sender)) => {
                        let _ = sender.send(result);
                    }
                    Some(Waiter::Events(sender)) => {
                        let error = result.map_or_else(|e| e, |reply| CallError::Unexpected(Box::new(reply)));
                        let _ = sender.try_send(Err(error));
                    }
                    Some(Waiter::Outputs(_)) | None => {}
                }
                return;
            }
        };
        // A server that sends more than its credit, or after the stream is dropped: the subscription ends.
        if let Some(Waiter::Events(sender)) = waiting.waiters.get(&id)
            && sender.try_send(batch).is_err()
        {
            waiting.waiters.remove(&id);
        }
    }

    /// The link is gone: all who wait are told.
    pub(crate) fn lose(&self, reason: &str) {
        let mut waiting = self.waiting();
        waiting.lost.get_or_insert_with(|| reason.to_owned());
        for waiter in std::mem::take(&mut waiting.waiters).into_values() {
            let error = CallError::Lost(reason.to_owned());
            match waiter {
                Waiter::Call(sender) => {
                    let _ = sender.send(Err(error));
                }
                Waiter::Events(sender) => {
                    let _ = sender.try_send(Err(error));
                }
                Waiter::Outputs(sender) => {
                    let _ = sender.try_send(Err(error));
                }
            }
        }
    }

    /// That call cannot be sent.
    pub(crate) fn reject(&self, id: RequestId, error: CallError) {
        match self.waiting().waiters.remove(&id) {
            Some(Waiter::Call(sender)) => {
                let _ = sender.send(Err(error));
            }
            Some(Waiter::Events(sender)) => {
                let _ = sender.try_send(Err(error));
            }
            Some(Waiter::Outputs(sender)) => {
                let _ = sender.try_send(Err(error));
            }
            None => {}
        }
    }

    fn add(&self, waiter: Waiter) -> Result<RequestId, CallError> {
        let mut waiting = self.waiting();
        if let Some(reason) = &waiting.lost {
            return Err(CallError::Lost(reason.clone()));
        }
        waiting.last += 1;
        let id = RequestId(waiting.last);
        waiting.waiters.insert(id, waiter);
        Ok(id)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // No step in here can leave it half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use hq_core::{ClientReply, Reply, RequestId};
use tokio::sync::{mpsc, oneshot};

use crate::CallError;

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
    Stream(mpsc::Sender<Result<ClientReply, CallError>>),
}

impl Router {
    /// Waits for one reply.
    pub(crate) fn expect_reply(
        &self,
    ) -> Result<(RequestId, oneshot::Receiver<Result<ClientReply, CallError>>), CallError> {
        let (sender, receiver) = oneshot::channel();
        Ok((self.add(Waiter::Call(sender))?, receiver))
    }

    /// Waits for replies that come again and again, at most `room` at a time.
    pub(crate) fn expect_stream(
        &self,
        room: u32,
    ) -> Result<(RequestId, mpsc::Receiver<Result<ClientReply, CallError>>), CallError> {
        // Some more for the answer to a submit, a reset, the end, and the word that the link is lost.
        let (sender, receiver) = mpsc::channel(room as usize + 4);
        Ok((self.add(Waiter::Stream(sender))?, receiver))
    }

    /// Nobody waits for that reply any more; says whether somebody did.
    pub(crate) fn forget(&self, id: RequestId) -> bool {
        self.waiting().waiters.remove(&id).is_some()
    }

    /// Hands a reply to who waits for it. One that nobody waits for is dropped.
    pub(crate) fn deliver(&self, Reply { id, reply }: Reply) {
        let mut waiting = self.waiting();
        let goes_on = matches!(
            reply,
            ClientReply::Events(_)
                | ClientReply::Reset { .. }
                | ClientReply::Outputs(_)
                | ClientReply::Submitted { .. }
        );
        let result = match reply {
            ClientReply::Refused(refusal) => Err(CallError::Refused(refusal)),
            reply => Ok(reply),
        };
        if let Some(Waiter::Stream(sender)) = waiting.waiters.get(&id) {
            // A server that sends more than its credit, or after the stream is dropped, is not heard any more.
            if sender.try_send(result).is_err() || !goes_on {
                waiting.waiters.remove(&id);
            }
        } else if let Some(Waiter::Call(sender)) = waiting.waiters.remove(&id) {
            let _ = sender.send(result);
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
                Waiter::Stream(sender) => {
                    let _ = sender.try_send(Err(error));
                }
            }
        }
    }

    /// Whether the link is gone.
    pub(crate) fn is_lost(&self) -> bool {
        self.waiting().lost.is_some()
    }

    /// That call cannot be sent.
    pub(crate) fn reject(&self, id: RequestId, error: CallError) {
        match self.waiting().waiters.remove(&id) {
            Some(Waiter::Call(sender)) => {
                let _ = sender.send(Err(error));
            }
            Some(Waiter::Stream(sender)) => {
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

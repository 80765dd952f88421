use hq_core::{Call, ClientRequest, Event, JobId, RequestId, Seq};
use tokio::sync::mpsc;

use crate::{CallError, Client, client::abandon, router::Router};

/// Batches that may be on their way.
const CREDIT: u32 = 16;

/// What a subscription brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventBatch {
    /// What happened, in order.
    Events(Vec<Event>),
    /// Some of what happened before `next` cannot be told any more; what is known must be asked for anew.
    Reset {
        /// Number of the next event.
        next: Seq,
    },
}

/// Events as they happen. Dropped, the subscription ends.
///
/// A stream that is not read does not grow: the server waits, and past a bound of its own it begins anew with a
/// [`Reset`](EventBatch::Reset).
#[derive(Debug)]
pub struct EventStream {
    subscription: RequestId,
    batches: mpsc::Receiver<Result<EventBatch, CallError>>,
    calls: mpsc::Sender<Call>,
    router: Router,
    /// Batches taken and not yet given credit for.
    owed: u32,
}

impl Client {
    /// Subscribes to events: from number `from` on or from now on, of these jobs or of all that happens.
    ///
    /// # Errors
    /// Where the link is gone. A refusal comes as the stream's first item.
    pub async fn subscribe(&self, from: Option<Seq>, jobs: Option<Vec<JobId>>) -> Result<EventStream, CallError> {
        let (subscription, batches) = self.router.expect_events(CREDIT)?;
        let stream =
            EventStream { subscription, batches, calls: self.calls.clone(), router: self.router.clone(), owed: 0 };
        let request = ClientRequest::Subscribe { from, jobs, credit: CREDIT };
        self.send(Call { id: subscription, request }).await?;
        Ok(stream)
    }
}

impl EventStream {
    /// The next batch; `None` after the stream's end, which is an error before.
    ///
    /// # Errors
    /// The last item: why the stream ends.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<Result<EventBatch, CallError>> {
        // Credit is given when the batch before has been dealt with. A link that is gone shows at the receipt.
        if self.owed > 0 {
            let request = ClientRequest::Credit { subscription: self.subscription, batches: self.owed };
            let _ = self.calls.send(Call { id: RequestId(0), request }).await;
            self.owed = 0;
        }
        let batch = self.batches.recv().await?;
        self.owed += u32::from(matches!(batch, Ok(EventBatch::Events(_))));
        Some(batch)
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        if self.router.forget(self.subscription) {
            abandon(&self.calls, self.subscription);
        }
    }
}

use hq_core::{ClientReply, ClientRequest, Event, JobId, Seq};

use crate::{CallError, Client, calls::unexpected, credit::Credited};

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
pub struct EventStream(Credited);

impl Client {
    /// Subscribes to events: from number `from` on or from now on, of these jobs or of all that happens.
    ///
    /// # Errors
    /// Where the link is gone. A refusal comes as the stream's first item.
    pub async fn subscribe(&self, from: Option<Seq>, jobs: Option<Vec<JobId>>) -> Result<EventStream, CallError> {
        let request = ClientRequest::Subscribe { from, jobs, credit: CREDIT };
        Ok(EventStream(self.credited(request, CREDIT).await?))
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
        Some(self.0.next().await?.and_then(|reply| match reply {
            ClientReply::Events(events) => Ok(EventBatch::Events(events)),
            ClientReply::Reset { next } => Ok(EventBatch::Reset { next }),
            other => Err(unexpected(other)),
        }))
    }
}

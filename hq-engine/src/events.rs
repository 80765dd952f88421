use std::collections::VecDeque;

use hq_core::{ClientRequest, Event, JobId, RequestId, Seq};
use tokio::sync::mpsc;

use crate::{
    EngineError, EngineHandle,
    driver::{Answer, Feed},
};

/// Batches that may be on their way.
const CREDIT: u32 = 16;

/// Events as they happen and are durable. Dropped, the subscription ends.
///
/// A stream that is not read does not grow: the engine waits, keeps what it can, and leaves out the rest; see
/// [`lost`](Self::lost).
#[derive(Debug)]
pub struct EventStream {
    handle: EngineHandle,
    subscription: RequestId,
    feed: mpsc::Receiver<Feed>,
    ready: VecDeque<Event>,
    /// Batches taken and not yet given credit for.
    owed: u32,
    lost: u64,
}

/// An event, or the place where some are missing.
#[derive(Debug)]
pub(crate) enum Item {
    Event(Box<Event>),
    Gap,
}

impl EventStream {
    pub(crate) async fn subscribe(
        handle: EngineHandle,
        from: Option<Seq>,
        jobs: Option<Vec<JobId>>,
    ) -> Result<Self, EngineError> {
        let (sender, feed) = mpsc::channel(CREDIT as usize + 2);
        let request = ClientRequest::Subscribe { from, jobs, credit: CREDIT };
        let subscription = handle.ask(request, Answer::Events(sender)).await?;
        Ok(Self { handle, subscription, feed, ready: VecDeque::new(), owed: 0, lost: 0 })
    }

    /// The next event; `None` when the engine has ended.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Item::Event(event) = self.next_item().await? {
                return Some(*event);
            }
        }
    }

    pub(crate) async fn next_item(&mut self) -> Option<Item> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Item::Event(Box::new(event)));
            }
            if self.owed > 0 {
                let request = ClientRequest::Credit { subscription: self.subscription, batches: self.owed };
                self.handle.ask(request, Answer::Nobody).await.ok()?;
                self.owed = 0;
            }
            match self.feed.recv().await? {
                Feed::Events(events) => {
                    self.ready.extend(events);
                    self.owed += 1;
                }
                Feed::Reset => {
                    self.lost += 1;
                    return Some(Item::Gap);
                }
            }
        }
    }

    /// How many times some events were left out before what was read last.
    pub const fn lost(&self) -> u64 {
        self.lost
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        self.handle.abandon(self.subscription);
    }
}

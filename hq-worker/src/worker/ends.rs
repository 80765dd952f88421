use std::sync::{Mutex, PoisonError};

use hq_core::{Outcome, RunId};
use tokio::sync::Notify;

use crate::EndSink;

/// Ends of runs on their way to the loop; never more than there are runs.
#[derive(Debug, Default)]
pub(super) struct Ends {
    waiting: Mutex<Vec<(RunId, Outcome)>>,
    news: Notify,
}

impl Ends {
    /// Moves all that wait into `batch`, which is empty.
    pub(super) fn take(&self, batch: &mut Vec<(RunId, Outcome)>) {
        std::mem::swap(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner), batch);
    }

    /// Makes the next [`some`](Self::some) return at once.
    pub(super) fn remind(&self) {
        self.news.notify_one();
    }

    /// Returns when there may be some. Cancel safe.
    pub(super) async fn some(&self) {
        self.news.notified().await;
    }
}

impl EndSink for Ends {
    fn ended(&self, run: RunId, outcome: Outcome) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push((run, outcome));
        let is_first = waiting.len() == 1;
        drop(waiting);
        if is_first {
            self.news.notify_one();
        }
    }
}

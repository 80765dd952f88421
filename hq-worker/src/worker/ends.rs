use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use hq_core::{JobId, Outcome, RunId, RunOutput};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::EndSink;

/// Ends of runs on their way to the loop; never more than there are runs.
#[derive(Debug)]
pub(super) struct Ends {
    waiting: Mutex<Vec<(RunId, Outcome)>>,
    /// What runs say, each with its share of the room.
    words: Mutex<Vec<Word>>,
    room: Arc<Semaphore>,
    /// What runs print; bounded by what may be sent.
    prints: Mutex<Vec<(JobId, RunOutput)>>,
    news: Notify,
}

/// Words that may be on their way to the server: who has more to say waits.
const WORDS_MAX: usize = 1024;

/// What a run says. Its room is free again once this is dropped.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) run: RunId,
    pub(super) message: String,
    pub(super) room: Option<OwnedSemaphorePermit>,
}

impl Default for Ends {
    fn default() -> Self {
        Self {
            waiting: Mutex::default(),
            words: Mutex::default(),
            room: Arc::new(Semaphore::new(WORDS_MAX)),
            prints: Mutex::default(),
            news: Notify::new(),
        }
    }
}

impl Ends {
    /// Moves all that wait into `batch`, which is empty.
    pub(super) fn take(&self, batch: &mut Vec<(RunId, Outcome)>) {
        std::mem::swap(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner), batch);
    }

    /// Takes what runs said. What a run said before its end was taken is among it.
    pub(super) fn take_words(&self) -> Vec<Word> {
        std::mem::take(&mut *self.words.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes what runs printed, as [`take_words`](Self::take_words) does.
    pub(super) fn take_prints(&self) -> Vec<(JobId, RunOutput)> {
        std::mem::take(&mut *self.prints.lock().unwrap_or_else(PoisonError::into_inner))
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

#[async_trait]
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

    fn printed(&self, job: JobId, output: RunOutput) {
        self.prints.lock().unwrap_or_else(PoisonError::into_inner).push((job, output));
        self.news.notify_one();
    }

    async fn notified(&self, run: RunId, message: String) {
        // Never closed.
        let room = Arc::clone(&self.room).acquire_owned().await.ok();
        self.words.lock().unwrap_or_else(PoisonError::into_inner).push(Word { run, message, room });
        self.news.notify_one();
    }
}

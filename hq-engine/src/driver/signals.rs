use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use hq_core::Seq;
use hq_journal::{Durability, OnDurable};
use tokio::sync::Notify;

/// News that need no place in a queue, since a later one stands for all earlier ones.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    durable: AtomicU64,
    journal_failed: Mutex<Option<String>>,
    interrupted: AtomicBool,
    wake: Notify,
}

impl Signals {
    /// What a journal is to call.
    pub(crate) fn on_durable(self: &Arc<Self>) -> OnDurable {
        let signals = Arc::clone(self);
        Arc::new(move |news| match news {
            Durability::UpTo(seq) => {
                signals.durable.fetch_max(seq.0, Ordering::AcqRel);
                signals.wake.notify_one();
            }
            Durability::Trouble(text) => tracing::warn!("{text}"),
            Durability::Failed(reason) => signals.fail_journal(reason),
        })
    }

    /// Nothing more can be made safe; the first reason counts.
    pub(crate) fn fail_journal(&self, reason: String) {
        self.journal_failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
        self.wake.notify_one();
    }

    /// The engine shall end.
    pub(crate) fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Release);
        self.wake.notify_one();
    }

    pub(crate) fn durable(&self) -> Seq {
        Seq(self.durable.load(Ordering::Acquire))
    }

    pub(crate) fn take_journal_failure(&self) -> Option<String> {
        self.journal_failed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn take_interrupt(&self) -> bool {
        self.interrupted.swap(false, Ordering::AcqRel)
    }

    /// Returns when something was said since the last time.
    pub(crate) async fn heard(&self) {
        self.wake.notified().await;
    }
}

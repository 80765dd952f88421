use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use hq_core::Seq;
use hq_journal::{Durability, OnDurable};
use tokio::sync::Notify;

/// Why a journal takes nothing more.
#[derive(Debug)]
pub(crate) struct JournalLost {
    pub(crate) reason: String,
    /// Somebody else has it.
    pub(crate) is_taken: bool,
}

/// News that need no place in a queue, since a later one stands for all earlier ones.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    durable: AtomicU64,
    journal_lost: Mutex<Option<JournalLost>>,
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
            Durability::Failed(reason) => signals.lose_journal(reason, false),
            Durability::TakenOver(reason) => signals.lose_journal(reason, true),
        })
    }

    /// Nothing more can be made safe; the first reason counts.
    pub(crate) fn lose_journal(&self, reason: String, is_taken: bool) {
        let mut lost = self.journal_lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.get_or_insert(JournalLost { reason, is_taken });
        drop(lost);
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

    pub(crate) fn take_journal_loss(&self) -> Option<JournalLost> {
        self.journal_lost.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn take_interrupt(&self) -> bool {
        self.interrupted.swap(false, Ordering::AcqRel)
    }

    /// Returns when something was said since the last time.
    pub(crate) async fn heard(&self) {
        self.wake.notified().await;
    }
}

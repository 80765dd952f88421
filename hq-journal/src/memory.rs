use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use hq_core::{Epoch, Record, Seq};

use crate::{
    AppendError, CloseError, CondenseError, Durability, Holder, Journal, Keep, OnCondensed, OnDurable, ReadError,
    Records, Urgency,
};

/// What memory journals write to. Lives as long as one of its clones, so that a journal can be opened again.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    retired: u64,
    records: VecDeque<Record>,
    epoch: Epoch,
}

impl Kept {
    fn last(&self) -> Seq {
        Seq(self.retired + self.records.len() as u64)
    }
}

impl MemoryStore {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A journal in memory: for tests, and for engines that nothing has to survive. What is appended is safe at once.
pub struct MemoryJournal {
    store: MemoryStore,
    on_durable: OnDurable,
}

impl MemoryJournal {
    /// Goes on where `store` is. Several may be open; the one with the latest epoch shuts the others out.
    pub fn open(store: &MemoryStore, on_durable: OnDurable) -> Self {
        Self { store: store.clone(), on_durable }
    }
}

impl Journal for MemoryJournal {
    fn append(&mut self, epoch: Epoch, first: Seq, records: &[Record], _: Urgency) -> Result<(), AppendError> {
        let mut kept = self.store.lock();
        let next = kept.last().next();
        if epoch < kept.epoch || first != next {
            let holder = Holder::this_process();
            return Err(AppendError::Fenced { holder, epoch: kept.epoch, next, old: epoch, first });
        }
        if records.is_empty() {
            return Ok(());
        }
        kept.epoch = epoch;
        kept.records.extend(records.iter().cloned());
        let last = kept.last();
        drop(kept);
        (self.on_durable)(Durability::UpTo(last));
        Ok(())
    }

    fn durable(&self) -> Seq {
        self.store.lock().last()
    }

    fn read(&self, from: Seq) -> Records {
        let store = self.store.clone();
        let end = store.lock().last();
        let mut at = from.max(Seq(1));
        let mut over = false;
        Box::new(std::iter::from_fn(move || {
            if over || at > end {
                return None;
            }
            let kept = store.lock();
            let Some(index) = (at.0 - 1).checked_sub(kept.retired) else {
                over = true;
                return Some(Err(ReadError::Retired { from: at, first: Seq(kept.retired + 1) }));
            };
            let record = kept.records.get(index as usize)?.clone();
            let seq = at;
            at = at.next();
            Some(Ok((seq, record)))
        }))
    }

    fn retire(&mut self, before: Seq) {
        let mut kept = self.store.lock();
        let dropped = before.0.saturating_sub(1).saturating_sub(kept.retired).min(kept.records.len() as u64);
        kept.records.drain(..dropped as usize);
        kept.retired += dropped;
    }

    fn condense(&mut self, _: Keep, done: OnCondensed) {
        done(Err(CondenseError::NotKnown));
    }

    fn close(self: Box<Self>) -> Result<(), CloseError> {
        Ok(())
    }
}

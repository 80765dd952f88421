//! What was appended and is not yet safe: between the callers and the thread that writes.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use hq_core::{Epoch, Record, Seq};

use super::frame;
use crate::{AppendError, Urgency};

/// The queue and what is known of the disk.
pub(super) struct Queue {
    state: Mutex<State>,
    /// The thread has something to do.
    work: Condvar,
    /// There is room again.
    room: Condvar,
    bytes_max: usize,
    flush_period: Duration,
}

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    last: Seq,
    /// When the frames have to be written at the latest; `None` where there are none.
    due: Option<Instant>,
    durable: Durable,
    closing: bool,
    failed: Option<String>,
}

/// What is safe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Durable {
    /// The last record.
    pub(super) seq: Seq,
    /// Where its frame ends.
    pub(super) end: u64,
}

impl Queue {
    pub(super) fn new(durable: Durable, bytes_max: usize, flush_period: Duration) -> Self {
        let state = State { durable, last: durable.seq, ..State::default() };
        Self { state: Mutex::new(state), work: Condvar::new(), room: Condvar::new(), bytes_max, flush_period }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a frame. Waits while more than `bytes_max` are queued: at most that and one frame are in the queue, and at most
    /// as much is being written.
    pub(super) fn push(
        &self,
        epoch: Epoch,
        first: Seq,
        records: &[Record],
        urgency: Urgency,
    ) -> Result<(), AppendError> {
        let mut state = self.lock();
        while state.failed.is_none() && state.bytes.len() > self.bytes_max {
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(reason) = &state.failed {
            return Err(AppendError::Failed { reason: reason.clone() });
        }
        frame::encode(&mut state.bytes, epoch, first, records)?;
        state.last = Seq(first.0.saturating_add(records.len() as u64 - 1));
        let now = Instant::now();
        let full = state.bytes.len() > self.bytes_max;
        let due = if urgency == Urgency::Now || full { now } else { now + self.flush_period };
        if state.due.is_none_or(|before| due < before) {
            state.due = Some(due);
            self.work.notify_one();
        }
        Ok(())
    }

    /// Takes all that is queued once it is due, into `bytes`. Returns its last record, or `None` at the end.
    pub(super) fn take(&self, bytes: &mut Vec<u8>) -> Option<Seq> {
        let mut state = self.lock();
        loop {
            let left = state.due.map(|due| due.saturating_duration_since(Instant::now()));
            match left {
                Some(left) if !left.is_zero() && !state.closing => {
                    let waited = self.work.wait_timeout(state, left);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                Some(_) => break,
                None if state.closing => return None,
                None => state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
        bytes.clear();
        std::mem::swap(&mut state.bytes, bytes);
        state.due = None;
        self.room.notify_all();
        Some(state.last)
    }

    /// What was taken is safe.
    pub(super) fn done(&self, durable: Durable) {
        self.lock().durable = durable;
    }

    /// Refuses everything from now on, for the first reason given.
    pub(super) fn fail(&self, reason: &str) {
        let mut state = self.lock();
        state.failed.get_or_insert_with(|| reason.to_owned());
        (state.bytes, state.due) = (vec![], None);
        self.room.notify_all();
    }

    /// Lets the thread end when it has written everything.
    pub(super) fn close(&self) {
        self.lock().closing = true;
        self.work.notify_one();
    }

    pub(super) fn durable(&self) -> Durable {
        self.lock().durable
    }

    pub(super) fn failure(&self) -> Option<String> {
        self.lock().failed.clone()
    }
}

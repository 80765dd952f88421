//! What was appended and is not yet safe: between the callers and the thread that writes.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use hq_core::{Epoch, Record, Seq};

use super::{condense::Exchange, frame, segment::Layout};
use crate::{AppendError, Urgency};

/// The queue, and what is known of the disk.
pub(super) struct Queue {
    state: Mutex<State>,
    /// The thread has something to do.
    work: Condvar,
    /// There is room again.
    room: Condvar,
    /// More is safe, or nothing ever will be.
    safe: Condvar,
    bytes_max: usize,
    flush_period: Duration,
    look_period: Duration,
}

struct State {
    bytes: Vec<u8>,
    last: Seq,
    epoch: Epoch,
    /// When the frames have to be written at the latest; `None` where there are none.
    due: Option<Instant>,
    /// The files, as far as they are safe.
    layout: Layout,
    exchange: Option<Box<Exchange>>,
    closing: bool,
    failed: Option<AppendError>,
}

/// What the thread is to do next.
pub(super) enum Work {
    /// Write what was taken out of the queue, up to this record.
    Write { last: Seq, epoch: Epoch },
    /// Put another file in the place of the active one.
    Exchange(Box<Exchange>),
    /// Nothing for a while: see whether the journal is still there.
    Look,
}

impl Queue {
    pub(super) fn new(
        layout: Layout,
        epoch: Epoch,
        bytes_max: usize,
        flush_period: Duration,
        look_period: Duration,
    ) -> Self {
        let last = Seq(layout.active.next.0 - 1);
        let (bytes, due, exchange, closing, failed) = (vec![], None, None, false, None);
        let state = State { bytes, last, epoch, due, layout, exchange, closing, failed };
        let [work, room, safe] = Default::default();
        Self { state: Mutex::new(state), work, room, safe, bytes_max, flush_period, look_period }
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
        if let Some(error) = &state.failed {
            return Err(error.clone());
        }
        frame::encode(&mut state.bytes, epoch, first, records)?;
        state.last = Seq(first.0.saturating_add(records.len() as u64 - 1));
        state.epoch = epoch;
        let now = Instant::now();
        let full = state.bytes.len() > self.bytes_max;
        let due = if urgency == Urgency::Now || full { now } else { now + self.flush_period };
        if state.due.is_none_or(|before| due < before) {
            state.due = Some(due);
            self.work.notify_one();
        }
        Ok(())
    }

    /// Takes all that is queued once it is due, into `bytes`, or what else is to be done. `None` at the end.
    pub(super) fn take(&self, bytes: &mut Vec<u8>) -> Option<Work> {
        let mut state = self.lock();
        loop {
            if let Some(exchange) = state.exchange.take() {
                return Some(Work::Exchange(exchange));
            }
            let left = state.due.map(|due| due.saturating_duration_since(Instant::now()));
            match left {
                Some(left) if !left.is_zero() && !state.closing => {
                    let waited = self.work.wait_timeout(state, left);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                Some(_) => break,
                None if state.closing => return None,
                None => {
                    let waited = self.work.wait_timeout(state, self.look_period);
                    let (after, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                    state = after;
                    if timeout.timed_out() && state.due.is_none() && state.exchange.is_none() && !state.closing {
                        return Some(Work::Look);
                    }
                }
            }
        }
        bytes.clear();
        std::mem::swap(&mut state.bytes, bytes);
        state.due = None;
        self.room.notify_all();
        Some(Work::Write { last: state.last, epoch: state.epoch })
    }

    /// Asks the thread to put another file in the place of the active one.
    ///
    /// # Errors
    /// Gives it back where the thread ends.
    pub(super) fn exchange(&self, exchange: Box<Exchange>) -> Result<(), Box<Exchange>> {
        let mut state = self.lock();
        if state.closing || state.failed.is_some() {
            return Err(exchange);
        }
        state.exchange = Some(exchange);
        self.work.notify_one();
        Ok(())
    }

    /// What was taken is safe.
    pub(super) fn done(&self, last: Seq, end: u64) {
        let mut state = self.lock();
        (state.layout.active.next, state.layout.active.end) = (last.next(), end);
        self.safe.notify_all();
    }

    /// Number of the last record that was appended.
    pub(super) fn last(&self) -> Seq {
        self.lock().last
    }

    /// Waits until a record is safe, or never will be.
    pub(super) fn wait_for(&self, seq: Seq) {
        let mut state = self.lock();
        while state.layout.active.next <= seq && !state.closing && state.failed.is_none() {
            state = self.safe.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Other files are the journal now.
    pub(super) fn set_layout(&self, change: impl FnOnce(&mut Layout)) {
        change(&mut self.lock().layout);
    }

    /// Refuses everything from now on, for the first reason given.
    pub(super) fn fail(&self, error: &AppendError) {
        let mut state = self.lock();
        state.failed.get_or_insert_with(|| error.clone());
        (state.bytes, state.due, state.exchange) = (vec![], None, None);
        self.room.notify_all();
        self.safe.notify_all();
    }

    /// Lets the thread end when it has written everything.
    pub(super) fn close(&self) {
        self.lock().closing = true;
        self.work.notify_one();
        self.safe.notify_all();
    }

    /// Whether nobody needs anything any more that is not written yet.
    pub(super) fn is_ending(&self) -> bool {
        let state = self.lock();
        state.closing || state.failed.is_some()
    }

    /// Number of the last record that is safe.
    pub(super) fn durable(&self) -> Seq {
        Seq(self.lock().layout.active.next.0 - 1)
    }

    /// The files, as far as they are safe.
    pub(super) fn layout(&self) -> Layout {
        self.lock().layout.clone()
    }

    pub(super) fn failure(&self) -> Option<AppendError> {
        self.lock().failed.clone()
    }
}

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

/// How far a handshake is, as seen from outside: whose turn it is, and since when.
#[derive(Debug, Default)]
pub(crate) struct Watch(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    has_key: bool,
    waiting_since: Option<Instant>,
}

impl Watch {
    /// Since when the peer owes us a frame, and whether it has shown a key before. `None` while
    /// it is us who have work to do. Single bytes do not count, only whole frames.
    pub(crate) fn peer_owes_since(&self) -> Option<(Instant, bool)> {
        let state = self.state();
        state.waiting_since.map(|since| (since, state.has_key))
    }

    pub(super) fn is_waiting(&self) {
        self.state().waiting_since.get_or_insert_with(Instant::now);
    }

    pub(super) fn has_frame(&self) {
        self.state().waiting_since = None;
    }

    pub(super) fn has_key(&self) {
        self.state().has_key = true;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

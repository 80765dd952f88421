use std::{
    any::Any,
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use hq_core::RunId;

/// What a runner has in hand, by run.
#[derive(Debug)]
pub(crate) struct Running<T> {
    runs: Mutex<HashMap<RunId, T>>,
}

impl<T> Default for Running<T> {
    fn default() -> Self {
        Self { runs: Mutex::default() }
    }
}

impl<T> Running<T> {
    /// All of them, locked. No code of others runs under the lock, so a poisoned one is as good as any.
    pub(crate) fn lock(&self) -> MutexGuard<'_, HashMap<RunId, T>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The text of a panic, for people.
pub(super) fn panic_text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", text.unwrap_or("without a text"))
}

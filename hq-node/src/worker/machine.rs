use hq_core::{Tick, WorkerConfig};

use super::{WorkerInput, WorkerOutput};

/// The worker machine.
#[derive(Debug)]
pub struct WorkerNode {}

impl WorkerNode {
    /// A worker that has just started.
    pub fn new(_config: WorkerConfig, _now: Tick) -> Self {
        Self {}
    }

    /// Takes news. Stale and impossible ones change nothing.
    pub fn handle_input(&mut self, _now: Tick, _input: WorkerInput) {}

    /// Takes the passing of time; call it at [`poll_timeout`](Self::poll_timeout), earlier or later does no harm.
    pub fn handle_timeout(&mut self, _now: Tick) {}

    /// The next thing to do; drain it after each input.
    pub fn poll_output(&mut self) -> Option<WorkerOutput> {
        None
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called next.
    pub fn poll_timeout(&self) -> Option<Tick> {
        None
    }
}

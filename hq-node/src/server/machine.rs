use hq_core::{Record, Seq, Tick};

use super::{ServerConfig, ServerInput, ServerOutput};

/// The server machine.
#[derive(Debug)]
pub struct ServerNode {}

impl ServerNode {
    /// A server that goes on from `history` (empty: a new one). The first output is the append of its boot.
    ///
    /// # Errors
    /// One line for people, where the history contradicts itself.
    pub fn new(_config: ServerConfig, _history: impl IntoIterator<Item = (Seq, Record)>) -> Result<Self, String> {
        Ok(Self {})
    }

    /// The moment of the boot: the shell's clock counts from here, so that time never goes back over restarts.
    pub fn boot_tick(&self) -> Tick {
        Tick(0)
    }

    /// Takes news. Stale and impossible ones change nothing.
    pub fn handle_input(&mut self, _now: Tick, _input: ServerInput) {}

    /// Takes the passing of time; call it at [`poll_timeout`](Self::poll_timeout), earlier or later does no harm.
    pub fn handle_timeout(&mut self, _now: Tick) {}

    /// The next thing to do; drain it after each input. A round of placement runs in here.
    pub fn poll_output(&mut self) -> Option<ServerOutput> {
        None
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called next.
    pub fn poll_timeout(&self) -> Option<Tick> {
        None
    }
}

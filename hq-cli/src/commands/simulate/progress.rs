use std::{
    io::{self, IsTerminal, Write as _},
    time::{Duration, Instant},
};

use hq_core::Tick;
use hq_sim::policy::Event;

/// A line on standard error that says how far a simulation is; nothing where that is no terminal.
pub(super) struct Progress {
    name: String,
    tasks: usize,
    ended: u64,
    events: u64,
    shown: Option<Instant>,
}

/// The clock is asked once in so many events.
const LOOK: u64 = 1024;
const PAUSE: Duration = Duration::from_millis(200);

impl Progress {
    /// Of a simulation of that many tasks.
    pub(super) fn new(name: String, tasks: usize) -> Self {
        let shown = io::stderr().is_terminal().then(Instant::now);
        Self { name, tasks, ended: 0, events: 0, shown }
    }

    /// Something happened.
    pub(super) fn see(&mut self, now: Tick, event: &Event<'_>) {
        self.events += 1;
        self.ended += u64::from(matches!(event, Event::Ended { .. }));
        if !self.events.is_multiple_of(LOOK) {
            return;
        }
        let Some(shown) = self.shown.as_mut().filter(|shown| shown.elapsed() >= PAUSE) else { return };
        *shown = Instant::now();
        let days = now.0 as f64 / 86_400e6;
        // Nothing depends on this line.
        _ = write!(io::stderr(), "\r\x1b[K{}: {} of {} tasks ended, day {days:.1}", self.name, self.ended, self.tasks);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() && self.events >= LOOK {
            _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

use hq_core::{Span, Tick};
use tokio::time::Instant;

/// The engine's time: the only place where the driver asks for the present.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    boot: Tick,
    started: Instant,
}

impl Clock {
    /// A clock that shows `boot` now.
    pub(crate) fn starting_at(boot: Tick) -> Self {
        Self { boot, started: Instant::now() }
    }

    pub(crate) fn now(&self) -> Tick {
        self.boot.after(Span::from(self.started.elapsed()))
    }

    /// When the clock will show `tick`.
    pub(crate) fn instant(&self, tick: Tick) -> Instant {
        let ahead = tick.since(self.boot);
        // A moment that no clock can show is as good as a year from now: the timer is set again then.
        self.started.checked_add(ahead.into()).unwrap_or_else(|| Instant::now() + Span::secs(31_536_000).into())
    }
}

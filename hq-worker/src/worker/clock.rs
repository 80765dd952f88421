use hq_core::Tick;
use tokio::time::Instant;

/// The worker's time: the only place where it is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    start: Instant,
}

impl Clock {
    /// Time begins.
    pub(super) fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Now.
    pub(super) fn now(self) -> Tick {
        Tick(u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    /// When the system's clock shows `tick`; not further away than a year.
    pub(super) fn instant(self, tick: Tick) -> Instant {
        const YEAR: u64 = 365 * 86_400 * 1_000_000;
        let now = self.now();
        let wait = tick.since(now).0.min(YEAR);
        self.start + std::time::Duration::from_micros(now.0 + wait)
    }
}

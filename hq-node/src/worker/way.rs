use hq_core::{Rng, Span, Tick, Welcome};

/// The wait before the first attempt, at most; each further one waits twice as long, up to [`WAIT_MAX`].
const WAIT_MIN: Span = Span::millis(100);
const WAIT_MAX: Span = Span::secs(10);

/// The way back to a server that was lost.
#[derive(Debug)]
pub(super) struct Way {
    /// Without a server for so long, it is given up.
    timeout: Span,
    /// Who it was; none once the server has said that it does not know it.
    pub(super) was: Option<Welcome>,
    lost: Option<Tick>,
    attempts: u32,
    rng: Rng,
}

impl Way {
    /// Of a worker that has just been welcomed.
    pub(super) fn new(timeout: Span, welcome: Welcome) -> Self {
        // Of what differs between workers, so that they do not all come at once.
        let rng = Rng::new(welcome.token ^ u64::from(welcome.worker.0));
        Self { timeout, was: Some(welcome), lost: None, attempts: 0, rng }
    }

    /// The server is there, and the worker is this one.
    ///
    /// Who came back stays known by the welcome of its first day: the server may forget a later one.
    pub(super) fn arrived(&mut self, welcome: Welcome) {
        self.was.get_or_insert(welcome);
        self.lost = None;
        self.attempts = 0;
    }

    /// The link is gone, or could not be made; says when to try again: after a wait that grows, half of it by chance.
    pub(super) fn again(&mut self, now: Tick) -> Tick {
        self.lost.get_or_insert(now);
        let longest = WAIT_MIN.0.checked_shl(self.attempts).map_or(WAIT_MAX.0, |wait| wait.min(WAIT_MAX.0));
        self.attempts = (self.attempts + 1).min(20);
        let retry = now.after(Span(self.rng.range(longest / 2, longest)));
        self.ends().map_or(retry, |ends| retry.min(ends))
    }

    /// When the server is given up.
    pub(super) fn ends(&self) -> Option<Tick> {
        self.lost.map(|lost| lost.after(self.timeout))
    }
}

#[cfg(test)]
mod tests {
    use hq_core::{Epoch, WorkerId};

    use super::*;

    fn welcome(token: u64) -> Welcome {
        let server_uid = "abc123".to_owned();
        Welcome { worker: WorkerId(1), epoch: Epoch(1), token, server_uid, idle_timeout: None }
    }

    fn waits(token: u64, timeout: Span) -> Vec<u64> {
        let mut way = Way::new(timeout, welcome(token));
        let mut now = Tick(0);
        (0..12)
            .map(|_| {
                let at = way.again(now);
                let wait = at.since(now);
                now = at;
                wait.0
            })
            .collect()
    }

    #[test]
    fn waits_grow_up_to_a_bound_and_differ_between_workers() {
        let (mine, other) = (waits(1, Span::secs(3600)), waits(2, Span::secs(3600)));
        for (i, wait) in mine.iter().enumerate() {
            let longest = (100_000_u64 << i).min(10_000_000);
            assert!((longest / 2..=longest).contains(wait), "{i}: {wait}");
        }
        assert_ne!(mine, other);
        assert_eq!(mine, waits(1, Span::secs(3600)), "the same worker waits the same");
    }

    #[test]
    fn nothing_is_tried_after_the_end() {
        let total: u64 = waits(1, Span::secs(5)).iter().sum();
        assert_eq!(total, 5_000_000);
        let mut way = Way::new(Span::secs(5), welcome(3));
        assert_eq!(way.ends(), None);
        way.again(Tick(7));
        assert_eq!(way.ends(), Some(Tick(5_000_007)));
        way.arrived(welcome(3));
        assert_eq!(way.ends(), None, "it was found");
    }
}

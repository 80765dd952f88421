use hq_core::{Span, Tick};

/// A clock that stands still while this process was not looking: stopped by a signal, or late for its own timer.
/// Others are not to blame for silence in such a time; what they said waits unread.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attention {
    absent: Span,
    last: Tick,
}

impl Attention {
    /// The process looks again at `now`; it had meant to at `expected` at the latest.
    pub(super) fn look(&mut self, now: Tick, expected: Option<Tick>) {
        if let Some(expected) = expected {
            self.absent = Span(self.absent.0.saturating_add(now.since(expected.max(self.last)).0));
        }
        self.last = self.last.max(now);
    }

    /// The time on this clock.
    pub(super) const fn clock(&self) -> Tick {
        self.last.before(self.absent)
    }

    /// The earliest moment at which this clock can show `at`.
    pub(super) const fn real(&self, at: Tick) -> Tick {
        at.after(self.absent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absence_does_not_count() {
        let mut attention = Attention::default();
        attention.look(Tick(100), None);
        attention.look(Tick(150), Some(Tick(200)));
        assert_eq!(attention.clock(), Tick(150), "in time");
        attention.look(Tick(1000), Some(Tick(200)));
        assert_eq!(attention.clock(), Tick(200), "800 late");
        attention.look(Tick(1010), Some(Tick(200)));
        assert_eq!(attention.clock(), Tick(200), "still has not looked after its timer");
        attention.look(Tick(1110), Some(Tick(1100)));
        assert_eq!((attention.clock(), attention.real(Tick(290))), (Tick(290), Tick(1110)));
    }
}

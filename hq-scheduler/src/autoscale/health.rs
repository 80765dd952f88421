use hq_core::{PauseCause, Span, Tick};

use super::ScaleKnobs;

/// How well a queue's submissions and allocations went lately, and when it may try again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Health {
    /// Failures since the last success, as far as delays grow with them.
    level: usize,
    last_attempt: Option<Tick>,
    submit_failures: u32,
    allocation_failures: u32,
    /// A dry run said that the next submission would be taken.
    is_confirmed: bool,
    /// When to make the next dry run.
    probe_at: Option<Tick>,
    probes: u32,
    /// After a pause for failed allocations: one at a time until one does well.
    pub(super) is_trying: bool,
}

impl Health {
    /// Of a queue that was paused in an earlier life, for what it was then.
    pub(super) fn paused(now: Tick, cause: &PauseCause, knobs: &ScaleKnobs) -> Self {
        let mut health = Self::default();
        match cause {
            PauseCause::User => {}
            PauseCause::Submissions(_) => {
                health.submit_failures = knobs.submit_failures;
                health.plan_probe(now, knobs);
            }
            PauseCause::Allocations(_) => health.allocation_failures = knobs.allocation_failures.saturating_sub(1),
        }
        health
    }

    /// When the next submission may be made.
    pub(super) fn opens_at(&self, knobs: &ScaleKnobs) -> Tick {
        match self.last_attempt {
            Some(last) if !self.is_confirmed => last.after(knobs.delay(self.level)),
            _ => Tick(0),
        }
    }

    /// A submission is made.
    pub(super) fn attempt(&mut self, now: Tick) {
        self.last_attempt = Some(now);
    }

    /// It failed. Says whether that is too often.
    pub(super) fn submit_failed(&mut self, now: Tick, knobs: &ScaleKnobs) -> bool {
        self.submit_failures += 1;
        self.is_confirmed = false;
        self.grow(knobs);
        self.plan_probe(now, knobs);
        self.submit_failures >= knobs.submit_failures
    }

    /// It went well.
    pub(super) fn submit_succeeded(&mut self) {
        self.submit_failures = 0;
        self.is_confirmed = false;
        self.probes = 0;
        self.probe_at = None;
        if self.allocation_failures == 0 {
            self.level = 0;
        }
    }

    /// An allocation came to nothing. Says whether that is too often.
    pub(super) fn allocation_failed(&mut self, knobs: &ScaleKnobs) -> bool {
        self.allocation_failures += 1;
        self.grow(knobs);
        self.allocation_failures >= knobs.allocation_failures
    }

    /// An allocation did well.
    pub(super) fn allocation_succeeded(&mut self) {
        self.allocation_failures = 0;
        self.is_trying = false;
        if self.submit_failures == 0 {
            self.level = 0;
        }
    }

    /// When to make a dry run.
    pub(super) const fn probe_at(&self) -> Option<Tick> {
        self.probe_at
    }

    /// A dry run is under way.
    pub(super) const fn probing(&mut self) {
        self.probe_at = None;
    }

    /// What a dry run told.
    pub(super) fn probed(&mut self, now: Tick, is_well: bool, knobs: &ScaleKnobs) {
        if self.submit_failures == 0 {
            return;
        }
        if is_well {
            self.is_confirmed = true;
        } else {
            self.plan_probe(now, knobs);
        }
    }

    /// How long a queue whose allocations fail is left alone.
    pub(super) fn rest(&self, knobs: &ScaleKnobs) -> Span {
        knobs.delay(self.level).max(knobs.probe)
    }

    /// Allocations that failed in a row.
    pub(super) const fn allocation_failures(&self) -> u32 {
        self.allocation_failures
    }

    fn grow(&mut self, knobs: &ScaleKnobs) {
        self.level = (self.level + 1).min(knobs.delays.len().saturating_sub(1));
    }

    fn plan_probe(&mut self, now: Tick, knobs: &ScaleKnobs) {
        let wait = knobs.probe.times(1 << self.probes.min(16)).min(knobs.probe_max);
        self.probes = self.probes.saturating_add(1);
        self.probe_at = Some(now.after(wait));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Tick {
        Tick(0).after(Span::secs(seconds))
    }

    #[test]
    fn delays_grow_with_failures_and_a_success_ends_them() {
        let knobs = ScaleKnobs::default();
        let mut health = Health::default();
        assert_eq!(health.opens_at(&knobs), Tick(0));
        for minutes in [1, 15, 30, 60, 60] {
            health.attempt(at(100));
            health.submit_failed(at(100), &knobs);
            assert_eq!(health.opens_at(&knobs), at(100 + minutes * 60));
        }
        health.submit_succeeded();
        assert_eq!(health.opens_at(&knobs), at(100));
    }

    #[test]
    fn a_dry_run_that_goes_well_opens_once() {
        let knobs = ScaleKnobs::default();
        let mut health = Health::default();
        for wait in [60, 120, 240, 240] {
            health.attempt(at(0));
            health.submit_failed(at(0), &knobs);
            assert_eq!(health.probe_at(), Some(at(wait)));
        }
        health.probing();
        health.probed(at(240), true, &knobs);
        assert_eq!(health.opens_at(&knobs), Tick(0));
        health.attempt(at(240));
        health.submit_failed(at(240), &knobs);
        assert_eq!(health.opens_at(&knobs), at(240 + 3600));
    }

    #[test]
    fn failed_allocations_keep_the_delay_over_submissions_that_go_well() {
        let knobs = ScaleKnobs::default();
        let mut health = Health::default();
        assert!(!health.allocation_failed(&knobs));
        health.attempt(at(0));
        health.submit_succeeded();
        assert_eq!(health.opens_at(&knobs), at(60));
        assert!(!health.allocation_failed(&knobs));
        assert!(health.allocation_failed(&knobs));
        health.allocation_succeeded();
        assert_eq!((health.allocation_failures(), health.opens_at(&knobs)), (0, at(0)));
    }
}

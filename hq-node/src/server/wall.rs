use hq_core::{Tick, WallTime};

/// Places ticks on the wall clock: each boot is an anchor, its ticks are counted from there.
#[derive(Clone, Debug, Default)]
pub(super) struct Wall {
    /// Boots in order of their ticks.
    anchors: Vec<Anchor>,
}

/// The wall clock's reading at a boot.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    at: Tick,
    wall: WallTime,
}

impl Wall {
    /// From `at` on, time is told by `wall`. An anchor that does not come after the last one replaces it.
    pub(super) fn anchor(&mut self, at: Tick, wall: WallTime) {
        self.anchors.retain(|anchor| anchor.at < at);
        self.anchors.push(Anchor { at, wall });
    }

    /// The moment `tick` by the wall clock, as far as the boot before it knew.
    pub(super) fn of(&self, tick: Tick) -> WallTime {
        let after = self.anchors.partition_point(|anchor| anchor.at <= tick);
        match self.anchors.get(after.saturating_sub(1)) {
            Some(anchor) if anchor.at <= tick => WallTime(anchor.wall.0.saturating_add(tick.since(anchor.at).0)),
            Some(anchor) => WallTime(anchor.wall.0.saturating_sub(anchor.at.since(tick).0)),
            None => WallTime(tick.0),
        }
    }

    /// Where a boot at `wall` goes on whose journal ends at `last`: by as much later than the last boot as the wall
    /// clock says, and never before `last`, whatever the wall clock says.
    pub(super) fn resume(&self, last: Tick, wall: WallTime) -> Tick {
        let by_wall = self
            .anchors
            .last()
            .map_or(Tick::default(), |anchor| Tick(anchor.at.0.saturating_add(wall.0.saturating_sub(anchor.wall.0))));
        last.max(by_wall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boots_go_on_and_never_back() {
        let mut wall = Wall::default();
        assert_eq!(wall.resume(Tick(0), WallTime(5_000)), Tick(0), "the first boot is the epoch");
        wall.anchor(Tick(0), WallTime(5_000));
        for (last, now, resumed) in [
            (100, 5_400, 400), // 300 µs pass between the last record and the boot
            (100, 5_050, 100), // the clock went back, but not before the first boot
            (100, 1, 100),     // before it
            (100, u64::MAX, u64::MAX - 5_000),
        ] {
            assert_eq!(wall.resume(Tick(last), WallTime(now)), Tick(resumed), "{last} {now}");
        }
    }

    /// J13: an hour back, a year forward, between boots and while one runs: time goes on, and what ran took as long as it ran.
    #[test]
    fn clocks_that_jump_move_no_time_back() {
        const HOUR: u64 = 3_600_000_000;
        const YEAR: u64 = 31_557_600_000_000;
        let (mut wall, mut clock, mut last) = (Wall::default(), 1_700_000_000_000_000_u64, Tick(0));
        for jump in [0, YEAR.cast_signed(), -HOUR.cast_signed(), -YEAR.cast_signed(), HOUR.cast_signed(), i64::MIN] {
            clock = clock.saturating_add_signed(jump);
            let boot = wall.resume(last, WallTime(clock));
            assert!(boot >= last, "{boot:?} after {last:?}");
            wall.anchor(boot, WallTime(clock));
            // A task of ten seconds, while the clock jumps once more: a server counts by its own clock.
            let (start, end) = (boot.after(hq_core::Span::secs(1)), boot.after(hq_core::Span::secs(11)));
            assert_eq!(wall.of(end).0 - wall.of(start).0, 10_000_000, "{jump}");
            assert!(wall.of(start) >= WallTime(clock));
            last = end;
        }
    }

    #[test]
    fn ticks_are_told_by_the_boot_before_them() {
        let mut wall = Wall::default();
        wall.anchor(Tick(10), WallTime(1_000));
        wall.anchor(Tick(500), WallTime(900)); // a clock that was set back meanwhile
        for (tick, shown) in [(10, 1_000), (499, 1_489), (500, 900), (510, 910), (0, 990)] {
            assert_eq!(wall.of(Tick(tick)), WallTime(shown), "{tick}");
        }
    }
}

use hq_core::{Span, Tick};

use super::draw::{Anchor, Drawing};

/// Where moments are: the first at `left`, the last at `left + width`.
#[derive(Clone, Copy)]
pub(super) struct TimeScale {
    pub(super) from: Tick,
    pub(super) length: Span,
    pub(super) left: f64,
    pub(super) width: f64,
}

const SECOND: u64 = 1_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
/// Units and the steps in them that people like.
const STEPS: [(&str, u64, &[u64]); 6] = [
    ("µs", 1, &[1, 2, 5, 10, 20, 50, 100, 200, 500]),
    ("ms", 1_000, &[1, 2, 5, 10, 20, 50, 100, 200, 500]),
    ("seconds", SECOND, &[1, 2, 5, 10, 15, 30]),
    ("minutes", MINUTE, &[1, 2, 5, 10, 15, 30]),
    ("hours", HOUR, &[1, 2, 3, 6, 12]),
    ("days", DAY, &[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 100_000, 1_000_000, 10_000_000]),
];
const TICKS_MAX: u64 = 7;

impl TimeScale {
    /// Where a moment is; outside of the picture at its border.
    pub(super) fn x(&self, at: Tick) -> f64 {
        let share = at.since(self.from).0 as f64 / self.length.0.max(1) as f64;
        self.left + self.width * share.min(1.0)
    }

    /// Name of a unit, that unit, and the distance of ticks.
    fn step(&self) -> (&'static str, u64, u64) {
        let steps =
            STEPS.iter().flat_map(|(name, unit, steps)| steps.iter().map(move |step| (*name, *unit, step * unit)));
        let fits = |(_, _, step): &(_, _, u64)| self.length.0 / step <= TICKS_MAX;
        steps.clone().find(fits).or_else(|| steps.last()).unwrap_or(("days", DAY, DAY))
    }

    /// Vertical lines through a chart.
    pub(super) fn grid(&self, drawing: &mut Drawing, top: f64, bottom: f64) {
        let (_, _, step) = self.step();
        for i in 1..=self.length.0 / step {
            let x = self.x(self.from.after(Span(i * step)));
            drawing.line((x, top), (x, bottom), "grid");
        }
    }

    /// The axis below all charts.
    pub(super) fn axis(&self, drawing: &mut Drawing, y: f64) {
        let (name, unit, step) = self.step();
        drawing.line((self.left, y), (self.left + self.width, y), "axis");
        for i in 0..=self.length.0 / step {
            let x = self.x(self.from.after(Span(i * step)));
            drawing.line((x, y), (x, y + 4.0), "axis");
            drawing.text(x, y + 16.0, Anchor::Middle, "tick", &(i * step / unit).to_string());
        }
        let label = format!("time since the first arrival, {name}");
        drawing.text(self.left + self.width / 2.0, y + 32.0, Anchor::Middle, "faint", &label);
    }
}

/// A length of time for people: the two largest units.
pub(super) fn short(span: Span) -> String {
    let micros = span.0;
    let step = match micros {
        0..1_000 => 1,
        1_000..SECOND => 10,
        SECOND..MINUTE => 10_000,
        MINUTE..HOUR => SECOND,
        HOUR..DAY => MINUTE,
        _ => HOUR,
    };
    let rounded = (micros.saturating_add(step / 2) / step) * step;
    match rounded {
        0 => "0 s".to_owned(),
        1..1_000 => format!("{rounded} µs"),
        1_000..SECOND => format!("{} ms", rounded as f64 / 1e3),
        SECOND..MINUTE => format!("{} s", rounded as f64 / 1e6),
        _ => Span(rounded).to_string(),
    }
}

/// A round number that is not smaller and has a half: an even number of a power of ten.
pub(super) fn round_up(value: u64) -> u64 {
    let mut power = 1u64;
    loop {
        for factor in [2, 4, 6, 8, 10] {
            let round = power.saturating_mul(factor);
            if round >= value {
                return round;
            }
        }
        power = power.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(length: u64) -> TimeScale {
        TimeScale { from: Tick(0), length: Span(length), left: 0.0, width: 100.0 }
    }

    #[test]
    fn ticks_are_round_and_few() {
        for (length, unit, step) in [
            (0, "µs", 1),
            (10, "µs", 2),
            (9_999, "ms", 2_000),
            (95 * SECOND, "seconds", 15 * SECOND),
            (121 * SECOND, "seconds", 30 * SECOND),
            (100 * MINUTE, "minutes", 15 * MINUTE),
            (250 * MINUTE, "hours", HOUR),
            (5 * DAY, "days", DAY),
            (340 * DAY, "days", 50 * DAY),
        ] {
            let (name, _, found) = scale(length).step();
            assert_eq!((name, found), (unit, step), "{length}");
        }
        let (_, _, step) = scale(u64::MAX).step();
        assert!(u64::MAX / step <= 3 * TICKS_MAX + 2, "{step}");
    }

    #[test]
    fn spans_for_people() {
        for (micros, expected) in [
            (0, "0 s"),
            (7, "7 µs"),
            (1_234, "1.23 ms"),
            (999_999, "1 s"),
            (12_345_678, "12.35 s"),
            (59_999_999, "1m"),
            (3_725_400_000, "1h 2m"),
            (353_950_000_000, "4days 2h"),
            (u64::MAX, "584542years 16days 20h"),
        ] {
            assert_eq!(short(Span(micros)), expected, "{micros}");
        }
    }

    #[test]
    fn round_numbers() {
        for (value, expected) in [(0, 2), (1, 2), (3, 4), (7, 8), (11, 20), (446, 600), (u64::MAX, u64::MAX)] {
            assert_eq!(round_up(value), expected, "{value}");
        }
    }
}

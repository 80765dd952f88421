//! The engine's own time: microseconds, an argument everywhere, never asked for.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

/// A moment: microseconds since the engine's epoch. It never goes back, over restarts neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tick(pub u64);

/// A length of time in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Span(pub u64);

impl Tick {
    /// The moment `span` later; the last one there is at overflow.
    pub const fn after(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// The moment `span` earlier; the first one there is at underflow.
    pub const fn before(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }

    /// Time from `earlier` to this moment; zero where `earlier` is later.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// Whole milliseconds.
    pub const fn millis(n: u64) -> Self {
        Self(n.saturating_mul(1_000))
    }

    /// Whole seconds.
    pub const fn secs(n: u64) -> Self {
        Self(n.saturating_mul(1_000_000))
    }

    /// This many times as long.
    pub const fn times(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }

    /// Shorter by `other`, not below zero.
    pub const fn less(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// As seconds, for people and for JSON.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl From<Duration> for Span {
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        Self::from_micros(span.0)
    }
}

/// Units of a day and more, which are words: more than one has an `s` at its end. A year has 365.25 days, a month a twelfth of it
/// rounded, as the crate `humantime` has it.
const LONG_UNITS: [(&str, u64); 3] =
    [("year", 31_557_600_000_000), ("month", 2_630_016_000_000), ("day", 86_400_000_000)];
const UNITS: [(&str, u64); 5] = [("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1_000), ("us", 1)];

/// `15days 2m`, `1h 10m 15s`, `1s 200ms`, `500ms`; `0s` for none.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        let mut rest = self.0;
        let mut separator = "";
        for (name, size) in LONG_UNITS {
            let count = rest / size;
            if count > 0 {
                write!(f, "{separator}{count}{name}{}", if count > 1 { "s" } else { "" })?;
                rest %= size;
                separator = " ";
            }
        }
        for (name, size) in UNITS {
            if rest >= size {
                write!(f, "{separator}{}{name}", rest / size)?;
                rest %= size;
                separator = " ";
            }
        }
        Ok(())
    }
}

/// A text that is not a length of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read `{text}` as a duration: {reason}; use e.g. `90`, `1:30`, `1h 30m` or `500ms`")]
pub struct ParseSpanError {
    text: String,
    reason: &'static str,
}

impl Span {
    /// Reads `HH:MM:SS`, `MM:SS`, `SS` (seconds) or the form with units: `1h`, `3m 10s`, `2 hours 5 minutes`.
    ///
    /// # Errors
    /// Says what is wrong with the text; lengths past 2^64 µs are refused too.
    ///
    /// # Examples
    /// ```
    /// use hq_core::Span;
    /// assert_eq!(Span::parse("1:30").unwrap(), Span::secs(90));
    /// assert_eq!(Span::parse("1s500ms").unwrap(), Span::millis(1500));
    /// assert!(Span::parse("1 parsec").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Self, ParseSpanError> {
        let error = |reason| ParseSpanError { text: text.to_owned(), reason };
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Err(error("it is empty"));
        }
        if trimmed.bytes().all(|b| b.is_ascii_digit() || b == b':') {
            return Self::parse_clock(trimmed).ok_or_else(|| error("it is not HH:MM:SS, MM:SS or seconds"));
        }
        Self::parse_human(trimmed).map_err(error)
    }

    /// Reads only the form with units.
    ///
    /// # Errors
    /// As [`Span::parse`], and for a plain number.
    pub fn parse_human_only(text: &str) -> Result<Self, ParseSpanError> {
        Self::parse_human(text.trim()).map_err(|reason| ParseSpanError { text: text.to_owned(), reason })
    }

    fn parse_clock(text: &str) -> Option<Self> {
        let parts: Vec<u64> = text.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
        let seconds = match parts[..] {
            [s] => s,
            [m, s] if s < 60 => m.checked_mul(60)?.checked_add(s)?,
            [h, m, s] if m < 60 && s < 60 => h.checked_mul(3600)?.checked_add(m * 60 + s)?,
            _ => return None,
        };
        seconds.checked_mul(1_000_000).map(Self)
    }

    fn parse_human(text: &str) -> Result<Self, &'static str> {
        let mut rest = text;
        let mut total = 0u64;
        if rest.is_empty() {
            return Err("it is empty");
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or("a unit is missing at its end")?;
            if digits == 0 {
                return Err("a number is expected before each unit");
            }
            let number: u64 = rest[..digits].parse().map_err(|_| "the number is too large")?;
            rest = rest[digits..].trim_start();
            let letters = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
            let (unit, after) = rest.split_at(letters);
            if unit.is_empty() {
                return Err("whole numbers are expected, each with a unit");
            }
            let micros = unit_micros(unit).ok_or("the unit is unknown")?;
            let part =
                if unit_is_nanos(unit) { number / 1000 } else { number.checked_mul(micros).ok_or("it is too long")? };
            total = total.checked_add(part).ok_or("it is too long")?;
            rest = after.trim_start();
        }
        Ok(Self(total))
    }
}

fn unit_is_nanos(unit: &str) -> bool {
    matches!(unit, "ns" | "nsec")
}

fn unit_micros(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" | "nsec" => 0,
        "us" | "usec" | "µs" => 1,
        "ms" | "msec" | "millis" => 1_000,
        "s" | "sec" | "secs" | "second" | "seconds" => 1_000_000,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000_000,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600_000_000,
        "d" | "day" | "days" => 86_400_000_000,
        "w" | "wk" | "wks" | "week" | "weeks" => 604_800_000_000,
        "M" | "month" | "months" => 2_630_016_000_000,
        "y" | "yr" | "yrs" | "year" | "years" => 31_557_600_000_000,
        _ => return None,
    })
}

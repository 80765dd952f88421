use std::time::{SystemTime, UNIX_EPOCH};

use hq_core::{Span, WallTime};
use jiff::{Timestamp, tz::TimeZone};

/// The wall clock's reading.
pub(crate) fn now() -> WallTime {
    // A clock before 1970 is shown as 1970.
    WallTime(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| Span::from(passed).0))
}

fn timestamp(time: WallTime) -> Timestamp {
    i64::try_from(time.0).ok().and_then(|micros| Timestamp::from_microsecond(micros).ok()).unwrap_or(Timestamp::MAX)
}

/// `2026-01-31 07:32:45 UTC`
pub(crate) fn date_utc(time: WallTime) -> String {
    timestamp(time).strftime("%F %T UTC").to_string()
}

/// `31.01.2026 07:32:45`, by the clock of `zone`.
pub(crate) fn date_local(time: WallTime, zone: &TimeZone) -> String {
    timestamp(time).to_zoned_datetime(zone.clone()).strftime("%d.%m.%Y %H:%M:%S").to_string()
}

/// `07:32:45`, by the clock of `zone`.
pub(crate) fn clock_local(time: WallTime, zone: &TimeZone) -> String {
    timestamp(time).to_zoned_datetime(zone.clone()).strftime("%H:%M:%S").to_string()
}

/// `2026-01-31T07:32:45.803595Z`
pub(crate) fn rfc3339(time: WallTime) -> String {
    timestamp(time).to_string()
}

/// Time between two moments, cut to milliseconds below a minute, to seconds below an hour, to minutes above.
pub(crate) fn makespan(start: WallTime, end: WallTime) -> String {
    let micros = end.0.saturating_sub(start.0);
    let step = match micros {
        0..60_000_000 => 1_000,
        60_000_000..3_600_000_000 => 1_000_000,
        _ => 60_000_000,
    };
    Span(micros - micros % step).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn makespans_are_cut() {
        for (micros, expected) in [
            (0, "0s"),
            (999, "0s"),
            (503_999, "503ms"),
            (1_204_567, "1s 204ms"),
            (59_999_999, "59s 999ms"),
            (61_500_000, "1m 1s"),
            (3_600_000_000 + 59_000_000, "1h"),
            (90_061_000_000, "1day 1h 1m"),
        ] {
            assert_eq!(makespan(WallTime(5), WallTime(5 + micros)), expected, "{micros}");
        }
        assert_eq!(makespan(WallTime(5), WallTime(0)), "0s");
    }

    #[test]
    fn local_dates() {
        let time = WallTime(1_769_844_765_803_595);
        assert_eq!(date_local(time, &TimeZone::UTC), "31.01.2026 07:32:45");
        let east = TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(date_local(time, &east), "31.01.2026 09:32:45");
        assert!(!date_local(WallTime(u64::MAX), &east).is_empty());
    }

    #[test]
    fn moments_have_two_forms() {
        let time = WallTime(1_769_844_765_803_595);
        assert_eq!(date_utc(time), "2026-01-31 07:32:45 UTC");
        assert_eq!(rfc3339(time), "2026-01-31T07:32:45.803595Z");
        assert_eq!(rfc3339(WallTime(0)), "1970-01-01T00:00:00Z");
        assert!(!rfc3339(WallTime(u64::MAX)).is_empty());
    }
}

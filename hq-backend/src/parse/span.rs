use hq_core::Span;

/// A limit of time as a manager prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeLimit {
    /// So long.
    Limit(Span),
    /// None, as far as anybody knows: said so, not set, or not readable. Never taken for no time at all.
    Unknown,
}

/// Reads `M`, `M:S`, `H:M:S`, `D-H`, `D-H:M`, `D-H:M:S`.
///
/// Everything else is [unknown](TimeLimit::Unknown): `UNLIMITED`, `infinite`, `INVALID`, `Partition_Limit`, `NOT_SET`,
/// `N/A`, `None`, an empty text, or one that makes no sense.
pub fn time_limit(text: &str) -> TimeLimit {
    seconds(text.trim()).map_or(TimeLimit::Unknown, |seconds| TimeLimit::Limit(Span::secs(seconds)))
}

fn seconds(text: &str) -> Option<u64> {
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (Some(number(days)?), rest),
        None => (None, text),
    };
    // Fractions of seconds are printed by some.
    let rest = rest.split_once('.').map_or(rest, |(whole, _)| whole);
    let parts: Vec<u64> = rest.split(':').map(number).collect::<Option<_>>()?;
    let (hours, minutes, seconds) = match (days, parts[..].as_ref()) {
        (Some(_), [h]) => (*h, 0, 0),
        (Some(_), [h, m]) => (*h, *m, 0),
        (None, [m]) => (0, *m, 0),
        (None, [m, s]) => (0, *m, *s),
        (_, [h, m, s]) => (*h, *m, *s),
        _ => return None,
    };
    let hours = days.unwrap_or(0).checked_mul(24)?.checked_add(hours)?;
    let minutes = hours.checked_mul(60)?.checked_add(minutes)?;
    minutes.checked_mul(60)?.checked_add(seconds)
}

fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.len() <= 10 && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

//! Numbers of text formats, brought into the exact ones.

use hq_core::Span;

/// Seconds as a span, to the next microsecond; none for what is negative, absurd or no number.
///
/// The formats' numbers are floating point; nothing but this conversion ever works with them.
pub(super) fn seconds(value: f64) -> Option<Span> {
    let micros = (value * 1e6).round();
    (micros.is_finite() && (0.0..=1e15).contains(&micros)).then_some(Span(micros as u64))
}

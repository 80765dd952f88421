use hq_core::Span;

/// I28: with one resource all tasks end within twice the time that no schedule beats, and what the messages take.
///
/// That more workers or shorter tasks bring an earlier end is *not* so: list scheduling knows anomalies (Graham 1969).
///
/// # Errors
/// With the two figures.
pub fn within_twice(makespan: Span, bound: Span, messages: Span) -> Result<(), String> {
    let most = Span(bound.0.saturating_mul(2).saturating_add(messages.0));
    if makespan > most {
        return Err(format!("I28 makespan: {makespan} where {bound} is possible at best"));
    }
    Ok(())
}

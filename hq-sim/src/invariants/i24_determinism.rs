use crate::trace::Trace;

/// I24: two runs of one seed have put out the same, byte for byte.
///
/// # Errors
/// Where they part.
pub fn same_traces(first: &Trace, second: &Trace) -> Result<(), String> {
    let parted = first.lines().zip(second.lines()).position(|(a, b)| a != b);
    match parted {
        Some(i) => {
            let line = |trace: &Trace| trace.lines().nth(i).map_or_else(String::new, str::to_owned);
            Err(format!("I24 determinism: line {i} is `{}` and `{}`", line(first), line(second)))
        }
        None if first.digest() != second.digest() || first.len() != second.len() => {
            Err(format!("I24 determinism: {} and {} lines, of different content", first.len(), second.len()))
        }
        None => Ok(()),
    }
}

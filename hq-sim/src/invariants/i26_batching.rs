use std::collections::BTreeMap;

use super::case::{Case, Decider, Manner, Placed};

/// I26: whether tasks come as arrays or one by one before a pass, on each worker as many of each kind and variant start.
///
/// # Errors
/// Where the plans differ.
pub fn batching(case: &Case, by: &Decider) -> Result<(), String> {
    let (_, arrays) = case.decide(by, Manner::default())?;
    let (_, singles) = case.decide(by, Manner { one_by_one: true, ..Manner::default() })?;
    let (arrays, singles) = (counts(&arrays), counts(&singles));
    if arrays != singles {
        return Err(format!("I26 batching: as arrays {arrays:?}, one by one {singles:?}"));
    }
    Ok(())
}

fn counts(placed: &[Placed]) -> BTreeMap<(usize, usize, u8), u32> {
    let mut counts = BTreeMap::new();
    for one in placed {
        *counts.entry((one.worker, one.kind, one.variant)).or_default() += 1;
    }
    counts
}

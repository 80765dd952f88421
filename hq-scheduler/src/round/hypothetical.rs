//! A round's choice for workers that are not there.

use hq_core::Request;

use super::fill::{Way, fill};
use crate::pool::Pools;

/// Gives one worker the most valuable combination of the tasks of a level, `most` at most, and takes it out of `pools`.
/// Says how many of each queue. Each way is the queue's place among `left`, what a task takes, and what it is worth.
pub(crate) fn fill_hypothetical<'a>(
    pools: &mut Pools,
    ways: impl Iterator<Item = (usize, &'a Request, u64)>,
    left: &[u64],
    most: u64,
) -> Vec<u64> {
    let ways: Vec<Way<'_>> = ways.map(|(class, request, value)| Way { class, variant: 0, request, value }).collect();
    let mut counts = vec![0; left.len()];
    for placed in fill(pools, &ways, left, most, &|_, _| true) {
        if let Some(count) = counts.get_mut(placed.class) {
            *count += 1;
        }
    }
    counts
}

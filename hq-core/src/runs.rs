use crate::idlist::Run;

/// Pairs of runs that are looked at before a list counts as too tangled.
const PAIRS_MAX: usize = 1 << 20;

/// What is wrong with a list of task numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Tangle {
    /// A number that occurs twice.
    #[error("Task {0} is defined more than once.")]
    Twice(u32),
    /// So many runs lie inside each other that looking through them would take too long.
    #[error("the ranges of task numbers overlap too much to be told apart")]
    TooMany,
}

/// Whether no number is in two runs, at least one of which is from `fresh`. The work follows the number of runs and of
/// pairs that lie inside each other, not of the numbers.
///
/// # Errors
/// Names a number that occurs twice, or says that the list is too tangled to tell.
pub(crate) fn apart(fresh: &[Run], known: &[Run]) -> Result<(), Tangle> {
    let tag = |runs: &[Run], is_fresh| runs.iter().map(|run| (*run, is_fresh)).collect::<Vec<_>>();
    let mut runs = [tag(fresh, true), tag(known, false)].concat();
    runs.sort_by_key(|(run, _)| run.start);
    let mut open: Vec<(Run, bool)> = Vec::new();
    let mut pairs = 0;
    for (run, is_fresh) in runs {
        open.retain(|(other, _)| last(*other) >= u64::from(run.start));
        pairs += open.len();
        let mut others = open.iter().filter(|(_, other_is_fresh)| is_fresh || *other_is_fresh);
        if let Some(twice) = others.find_map(|(other, _)| common(*other, run)) {
            return Err(Tangle::Twice(twice));
        }
        if pairs > PAIRS_MAX {
            return Err(Tangle::TooMany);
        }
        open.push((run, is_fresh));
    }
    Ok(())
}

fn last(run: Run) -> u64 {
    u64::from(run.start) + u64::from(run.count.saturating_sub(1)) * u64::from(run.step)
}

/// The smallest number in both runs.
fn common(a: Run, b: Run) -> Option<u32> {
    common_run(a, b).map(|run| run.start)
}

/// The numbers in both runs: the solution of two congruences (Chinese remainder theorem) within both spans.
pub(crate) fn common_run(a: Run, b: Run) -> Option<Run> {
    let (s, t) = (i128::from(a.step.max(1)), i128::from(b.step.max(1)));
    let (gcd, inverse) = extended_gcd(s, t);
    let distance = i128::from(b.start) - i128::from(a.start);
    if distance % gcd != 0 {
        return None;
    }
    let period = s / gcd * t;
    let first = i128::from(a.start) + s * (distance / gcd * inverse).rem_euclid(t / gcd);
    let from = i128::from(a.start.max(b.start));
    let found = from + (first - from).rem_euclid(period);
    let room = i128::from(last(a).min(last(b))) - found;
    let more = u32::try_from(room / period).ok().filter(|_| room >= 0)?;
    // Past the range of numbers there is only one.
    let step = if more == 0 { 1 } else { u32::try_from(period).ok()? };
    Some(Run { start: u32::try_from(found).ok()?, count: more.checked_add(1)?, step })
}

/// The greatest common divisor of `a` and `b`, and a factor of `a` that gives it modulo `b`.
fn extended_gcd(a: i128, b: i128) -> (i128, i128) {
    let (mut r, mut next_r, mut x, mut next_x) = (a, b, 1, 0);
    while next_r != 0 {
        let q = r / next_r;
        (r, next_r) = (next_r, r - q * next_r);
        (x, next_x) = (next_x, x - q * next_x);
    }
    (r, x)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::IdList;

    #[test]
    fn huge_and_interleaved_lists_are_told_apart_at_once() {
        let run = |start, count, step| Run { start, count, step };
        for (runs, result) in [
            (vec![run(0, 1 << 31, 2), run(1, 1 << 31, 2)], Ok(())),
            (vec![run(0, 1 << 31, 2), run(1, 1 << 30, 3)], Err(Tangle::Twice(4))),
            ((0..1_000_000).map(|i| run(2_000_000 - 2 * i, 1, 1)).collect(), Ok(())),
            ((0..1_000_000).map(|i| run(i, 1, 1)).chain([run(999_999, 1, 1)]).collect(), Err(Tangle::Twice(999_999))),
            ((0..2_000).map(|i| run(i, 2, 100_000)).collect(), Err(Tangle::TooMany)),
        ] {
            assert_eq!(IdList::from(runs).distinct(), result);
        }
    }

    #[test]
    fn two_lists_are_told_apart() {
        let half = 1 << 31;
        let (even, odd) = (Run { start: 0, count: half, step: 2 }, Run { start: 1, count: half, step: 2 });
        let list = |run: Run| IdList::from(vec![run]);
        let scattered = |first: u32| {
            IdList::from(
                (0..300_000)
                    .rev()
                    .map(|i| Run { start: first + 4 * i, ..even })
                    .map(|run| Run { count: 1, ..run })
                    .collect::<Vec<_>>(),
            )
        };
        for (a, b, result) in [
            (list(even), list(odd), Ok(())),
            (list(even), IdList::range(7, 1), Ok(())),
            (list(even), IdList::range(7, 2), Err(Tangle::Twice(8))),
            (scattered(0), scattered(1), Ok(())),
            (scattered(0), scattered(1_199_996), Err(Tangle::Twice(1_199_996))),
            (IdList::default(), list(odd), Ok(())),
        ] {
            assert_eq!((a.apart(&b), b.apart(&a)), (result, result));
        }
    }

    proptest! {
        #[test]
        fn agrees_with_a_set(runs in prop::collection::vec((0u32..60, 1u32..6, 1u32..9), 0..5)) {
            let runs: Vec<Run> = runs.into_iter().map(|(start, count, step)| Run { start, count, step }).collect();
            let ids = IdList::from(runs);
            let unique = ids.iter().collect::<BTreeSet<_>>().len() as u64 == ids.len();
            match ids.distinct() {
                Ok(()) => prop_assert!(unique),
                Err(Tangle::Twice(number)) => prop_assert!(ids.iter().filter(|n| *n == number).count() > 1),
                Err(Tangle::TooMany) => prop_assert!(false, "a few runs are never too many"),
            }
        }
    }
}

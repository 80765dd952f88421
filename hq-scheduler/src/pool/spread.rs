use hq_core::Policy;

/// How many whole indices each group gives.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Spread {
    /// Per group.
    pub(super) counts: Vec<u32>,
    /// Which group gives the last one.
    pub(super) last: usize,
}

/// Takes `units` from groups of which `free` has that many in all.
///
/// `tight` fills one group after the other; the others take one of each in turn.
pub(super) fn spread(policy: Policy, free: &[u32], units: u32) -> Spread {
    match policy {
        Policy::Tight | Policy::ForceTight => fill(free, units),
        Policy::Compact | Policy::ForceCompact | Policy::Scatter => in_turn(free, units),
    }
}

fn in_turn(free: &[u32], units: u32) -> Spread {
    let mut spread = Spread { counts: vec![0; free.len()], last: 0 };
    let mut left = units;
    while left > 0 {
        let open = |counts: &[u32], at: &usize| counts[*at] < free[*at];
        let groups: Vec<usize> = (0..free.len()).filter(|at| open(&spread.counts, at)).collect();
        let Some(least) = groups.iter().map(|at| free[*at] - spread.counts[*at]).min() else { break };
        // Whole turns at once, and single steps only in the last one.
        let turns = least.min(left / groups.len() as u32);
        let takers = if turns == 0 { left as usize } else { groups.len() };
        for at in &groups[..takers] {
            spread.counts[*at] += turns.max(1);
            spread.last = *at;
        }
        left -= turns.max(1) * takers as u32;
    }
    spread
}

fn fill(free: &[u32], units: u32) -> Spread {
    let mut spread = Spread { counts: vec![0; free.len()], last: 0 };
    let mut left = units;
    while left > 0 {
        let untouched = || (0..free.len()).filter(|at| spread.counts[*at] == 0 && free[*at] > 0);
        let sufficient = untouched().filter(|at| free[*at] >= left).min_by_key(|at| free[*at]);
        let Some(at) = sufficient.or_else(|| untouched().min_by_key(|at| std::cmp::Reverse(free[*at]))) else { break };
        spread.counts[at] = left.min(free[at]);
        spread.last = at;
        left -= spread.counts[at];
    }
    spread
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_turn_or_one_after_the_other() {
        for (policy, free, units, counts, last) in [
            (Policy::Compact, vec![4, 4], 6, vec![3, 3], 1),
            (Policy::Compact, vec![4, 4], 3, vec![2, 1], 0),
            (Policy::Compact, vec![1, 4, 0, 3], 7, vec![1, 3, 0, 3], 3),
            (Policy::Compact, vec![1, 9, 2], 12, vec![1, 9, 2], 1),
            (Policy::Scatter, vec![4, 1, 4], 4, vec![2, 1, 1], 0),
            (Policy::Scatter, vec![1 << 20, 1 << 20], (1 << 20) + 1, vec![(1 << 19) + 1, 1 << 19], 0),
            (Policy::Compact, vec![4, 4], 0, vec![0, 0], 0),
            (Policy::Tight, vec![4, 4], 6, vec![4, 2], 1),
            (Policy::Tight, vec![2, 4], 6, vec![2, 4], 0),
            (Policy::Tight, vec![3, 2, 4], 2, vec![0, 2, 0], 1),
            (Policy::ForceTight, vec![1, 3, 2, 5], 7, vec![0, 0, 2, 5], 2),
        ] {
            assert_eq!(spread(policy, &free, units), Spread { counts, last }, "{policy:?} {units} of {free:?}");
        }
    }
}

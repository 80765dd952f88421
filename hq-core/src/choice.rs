use crate::{IdList, idlist::Run, runs::common_run};

/// Choices among the numbers of a list. The work follows the number of runs, not of numbers.
impl IdList {
    /// The numbers from `first` to `last`, in the order given.
    #[must_use]
    pub fn within(&self, first: u32, last: u32) -> Self {
        Self::from(self.runs().iter().filter_map(|run| run.within(first, last)).collect::<Vec<_>>())
    }

    /// Adds the numbers of `other`, which are to be other ones.
    pub fn append(&mut self, other: &Self) {
        *self = Self::from([self.runs(), other.runs()].concat());
    }

    /// The numbers that `other` has, too, in the order of this list.
    #[must_use]
    pub fn common(&self, other: &Self) -> Self {
        let mut runs: Vec<Run> = Vec::new();
        for run in self.runs() {
            if usize::try_from(run.count).is_ok_and(|count| count <= other.runs().len()) {
                let numbers = (0..run.count).map(|i| run.start + i * run.step);
                runs.extend(numbers.filter(|n| other.index_of(*n).is_some()).map(Run::one));
            } else {
                let from = runs.len();
                runs.extend(other.runs().iter().filter_map(|theirs| common_run(*run, *theirs)));
                // Of two runs that lie inside each other, the numbers alternate: one by one they are in order.
                let found = runs.split_off(from);
                if apart(&found) {
                    runs.extend(sorted(found));
                } else {
                    let mut numbers: Vec<u32> = Self::from(found).iter().collect();
                    numbers.sort_unstable();
                    runs.extend(numbers.into_iter().map(Run::one));
                }
            }
        }
        Self::from(joined(runs))
    }

    /// How many numbers of `wanted` this list has not, and the first few of them in the order of `wanted`.
    pub fn missing(&self, wanted: &Self, few: usize) -> (Vec<u32>, u64) {
        let count = wanted.len() - wanted.common(self).len();
        let mut found = Vec::new();
        if count > 0 {
            for run in wanted.runs() {
                self.first_missing(*run, few, &mut found);
            }
        }
        (found, count)
    }

    /// Halves what cannot be told as a whole.
    fn first_missing(&self, run: Run, few: usize, found: &mut Vec<u32>) {
        if found.len() >= few {
            return;
        }
        let there = Self::from(vec![run]).common(self).len();
        if there == 0 {
            found.extend((0..run.count).take(few - found.len()).map(|i| run.start + i * run.step));
        } else if there < u64::from(run.count) {
            let half = run.count / 2;
            self.first_missing(Run { count: half, ..run }, few, found);
            let rest = Run { start: run.start + half * run.step, count: run.count - half, ..run };
            self.first_missing(rest, few, found);
        }
    }
}

impl Run {
    /// One number.
    pub const fn one(number: u32) -> Self {
        Self { start: number, count: 1, step: 1 }
    }

    /// The largest number.
    pub fn end(self) -> u32 {
        let last = u64::from(self.start) + u64::from(self.count.saturating_sub(1)) * u64::from(self.step);
        u32::try_from(last).unwrap_or(u32::MAX)
    }

    /// The part from `first` to `last`; nothing where that is empty.
    #[must_use]
    pub fn within(self, first: u32, last: u32) -> Option<Self> {
        let step = self.step.max(1);
        let skipped = first.saturating_sub(self.start).div_ceil(step);
        let end = last.checked_sub(self.start)? / step;
        let count = end.saturating_add(1).min(self.count).checked_sub(skipped).filter(|count| *count > 0)?;
        Some(Self { start: self.start + skipped * step, count, step: self.step })
    }
}

/// Whether no run lies inside another.
fn apart(runs: &[Run]) -> bool {
    sorted(runs.to_vec()).windows(2).all(|two| two[0].end() < two[1].start)
}

fn sorted(mut runs: Vec<Run>) -> Vec<Run> {
    runs.sort_unstable_by_key(|run| run.start);
    runs
}

/// Neighbours that go on in steps of one as one run.
fn joined(runs: Vec<Run>) -> Vec<Run> {
    let is_dense = |run: &Run| run.step == 1 || run.count == 1;
    let mut joined: Vec<Run> = Vec::with_capacity(runs.len());
    for run in runs {
        match joined.last_mut() {
            Some(last)
                if is_dense(last)
                    && is_dense(&run)
                    && last.start.checked_add(last.count) == Some(run.start)
                    && last.count.checked_add(run.count).is_some() =>
            {
                last.count += run.count;
                last.step = 1;
            }
            _ => joined.push(run),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn list(items: &[(u32, u32, u32)]) -> Option<IdList> {
        let list =
            IdList::from(items.iter().map(|(s, c, t)| Run { start: *s, count: *c, step: *t }).collect::<Vec<_>>());
        list.distinct().is_ok().then_some(list)
    }

    #[test]
    fn billions_are_a_few_runs() {
        let all = IdList::parse("0-999999999").unwrap();
        let odd = IdList::parse("1-1999999999:2").unwrap();
        assert_eq!(all.common(&odd).to_string(), "1-999999999:2");
        assert_eq!(odd.common(&all).to_string(), "1-999999999:2");
        assert_eq!(all.missing(&odd, 2), (vec![1_000_000_001, 1_000_000_003], 500_000_000));
        assert_eq!(all.missing(&all, 2), (vec![], 0));
        assert_eq!(all.within(5, 6).to_string(), "5-6");
    }

    proptest! {
        #[test]
        fn agrees_with_one_by_one(
            a in prop::collection::vec((0u32..60, 1u32..9, 1u32..5), 0..5),
            b in prop::collection::vec((0u32..60, 1u32..9, 1u32..5), 0..5),
            (first, last) in (0u32..70, 0u32..90),
        ) {
            let (Some(a), Some(b)) = (list(&a), list(&b)) else { return Ok(()) };
            let both: Vec<u32> = a.iter().filter(|n| b.index_of(*n).is_some()).collect();
            prop_assert_eq!(a.common(&b).iter().collect::<Vec<_>>(), both);
            let inside: Vec<u32> = a.iter().filter(|n| (first..=last).contains(n)).collect();
            prop_assert_eq!(a.within(first, last).iter().collect::<Vec<_>>(), inside);
            let missing: Vec<u32> = b.iter().filter(|n| a.index_of(*n).is_none()).collect();
            let (found, count) = a.missing(&b, 3);
            prop_assert_eq!(count, missing.len() as u64);
            prop_assert_eq!(&found[..], &missing[..missing.len().min(3)]);
        }
    }
}

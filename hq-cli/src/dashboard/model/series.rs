use hq_core::WallTime;

/// Points of a curve that are kept.
const POINTS_MAX: usize = 256;

/// A value over time, as steps: it holds from its point to the next. Where there are too many points, the one that stands
/// closest between its neighbours goes, so that what is left is spread evenly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Series<T>(Vec<(WallTime, T)>);

impl<T: Clone + PartialEq> Series<T> {
    /// From `at` on it is `value`. Points may come in any order; a later one at the same moment replaces the first.
    pub(crate) fn push(&mut self, at: WallTime, value: T) {
        let after = self.0.partition_point(|(known, _)| *known < at);
        let before = after.checked_sub(1).and_then(|i| self.0.get(i));
        let is_same = before.is_some_and(|(_, before)| *before == value);
        match self.0.get_mut(after) {
            Some((known, old)) if *known == at => *old = value,
            _ if is_same => {}
            _ => self.0.insert(after, (at, value)),
        }
        if self.0.len() > POINTS_MAX {
            let gap = |i: usize| match self.0.get(i - 1..=i + 1) {
                Some([(before, _), _, (after, _)]) => after.0 - before.0,
                _ => u64::MAX,
            };
            if let Some(closest) = (1..self.0.len() - 1).min_by_key(|i| gap(*i)) {
                self.0.remove(closest);
            }
        }
    }

    /// The latest value.
    pub(crate) fn last(&self) -> Option<&T> {
        self.0.last().map(|(_, value)| value)
    }

    /// The value at a moment; none before the first point.
    pub(crate) fn at(&self, at: WallTime) -> Option<&T> {
        let after = self.0.partition_point(|(known, _)| *known <= at);
        self.0.get(after.checked_sub(1)?).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_value_holds_until_the_next() {
        let mut series = Series::default();
        for (at, value) in [(20, 2), (10, 1), (30, 2), (40, 3), (40, 4)] {
            series.push(WallTime(at), value);
        }
        let seen: Vec<_> = [9, 10, 19, 20, 39, 40, 99].map(|at| series.at(WallTime(at)).copied()).into();
        assert_eq!(seen, [None, Some(1), Some(1), Some(2), Some(2), Some(4), Some(4)]);
        assert_eq!(series.0.len(), 3, "what changes nothing takes no room");
    }

    #[test]
    fn many_points_are_thinned_evenly() {
        let mut series = Series::default();
        (0..100_000_u64).for_each(|i| series.push(WallTime(i), i));
        assert_eq!(series.0.len(), POINTS_MAX);
        assert_eq!((series.0[0].0, series.at(WallTime(u64::MAX))), (WallTime(0), Some(&99_999)));
        let widest = series.0.windows(2).map(|pair| pair[1].0.0 - pair[0].0.0).max().expect("gaps");
        assert!(widest <= 4 * 100_000 / POINTS_MAX as u64, "a gap of {widest}");
    }

    proptest! {
        #[test]
        fn points_stay_sorted_and_bounded(points in prop::collection::vec((0_u64..5_000, 0_u8..4), 0..800)) {
            let mut series = Series::default();
            points.iter().for_each(|(at, value)| series.push(WallTime(*at), *value));
            prop_assert!(series.0.len() <= POINTS_MAX);
            prop_assert!(series.0.windows(2).all(|pair| pair[0].0 < pair[1].0));
        }
    }
}

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Ordinal;

/// A run of consecutive ordinals. Never empty inside the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "(Ordinal, u64)", into = "(Ordinal, u64)")] // no names: it is in most records of a journal
pub struct OrdinalRange {
    /// The first one.
    pub start: Ordinal,
    /// How many.
    pub len: u64,
}

impl From<(Ordinal, u64)> for OrdinalRange {
    fn from((start, len): (Ordinal, u64)) -> Self {
        Self { start, len }
    }
}

impl From<OrdinalRange> for (Ordinal, u64) {
    fn from(range: OrdinalRange) -> Self {
        (range.start, range.len)
    }
}

impl OrdinalRange {
    /// `len` ordinals from `start`.
    pub const fn new(start: Ordinal, len: u64) -> Self {
        Self { start, len }
    }

    /// Just this one.
    pub const fn one(ordinal: Ordinal) -> Self {
        Self { start: ordinal, len: 1 }
    }

    /// The ordinal after the last one.
    pub const fn end(self) -> Ordinal {
        Ordinal(self.start.0.saturating_add(self.len))
    }

    /// Whether `ordinal` lies inside.
    pub const fn contains(self, ordinal: Ordinal) -> bool {
        self.start.0 <= ordinal.0 && ordinal.0 < self.end().0
    }

    /// The ordinals, one by one.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Ordinal> + DoubleEndedIterator + use<> {
        let len = self.end().0 - self.start.0; // Not the length as given, which may lead past the last ordinal.
        (0..len as usize).map(move |i| Ordinal(self.start.0 + i as u64))
    }
}

/// A set of ordinals as an ordered map of disjoint, non-adjacent ranges: its size and cost follow the
/// number of runs, not of members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeSet {
    /// Start to end (exclusive).
    runs: BTreeMap<u64, u64>,
    len: u64,
}

impl RangeSet {
    /// Nothing in it.
    pub const fn new() -> Self {
        Self { runs: BTreeMap::new(), len: 0 }
    }

    /// Number of members.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// True without members.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of runs.
    pub fn run_count(&self) -> usize {
        self.runs.len()
    }

    /// Whether `ordinal` is in it.
    pub fn contains(&self, ordinal: Ordinal) -> bool {
        self.run_of(ordinal).is_some()
    }

    /// The run in which `ordinal` lies.
    pub fn run_of(&self, ordinal: Ordinal) -> Option<OrdinalRange> {
        let (start, end) = self.runs.range(..=ordinal.0).next_back().filter(|(_, end)| ordinal.0 < **end)?;
        Some(OrdinalRange::new(Ordinal(*start), end - start))
    }

    /// The smallest member.
    pub fn first(&self) -> Option<Ordinal> {
        self.runs.keys().next().map(|start| Ordinal(*start))
    }

    /// The first run.
    pub fn first_range(&self) -> Option<OrdinalRange> {
        self.iter().next()
    }

    /// The runs in order.
    pub fn iter(&self) -> impl Iterator<Item = OrdinalRange> + '_ {
        self.runs.iter().map(|(start, end)| OrdinalRange::new(Ordinal(*start), end - start))
    }

    /// Adds the members of `range`; those already there stay.
    pub fn insert(&mut self, range: OrdinalRange) {
        if range.len == 0 {
            return;
        }
        let (mut start, mut end) = (range.start.0, range.end().0);
        if let Some((s, e)) = self.runs.range(..=start).next_back().map(|(s, e)| (*s, *e))
            && e >= start
        {
            start = s;
            end = end.max(e);
            self.drop_run(s, e);
        }
        while let Some((s, e)) = self.runs.range(start..=end).next().map(|(s, e)| (*s, *e)) {
            end = end.max(e);
            self.drop_run(s, e);
        }
        self.put_run(start, end);
    }

    /// Removes the members of `range` that are there; says how many they were.
    pub fn remove(&mut self, range: OrdinalRange) -> u64 {
        let (start, end) = (range.start.0, range.end().0);
        let before = self.len;
        if range.len == 0 {
            return 0;
        }
        let first = self.runs.range(..=start).next_back().map(|(s, e)| (*s, *e)).filter(|(_, e)| *e > start);
        let mut next = first.or_else(|| self.runs.range(start..end).next().map(|(s, e)| (*s, *e)));
        while let Some((s, e)) = next.filter(|(s, _)| *s < end) {
            self.drop_run(s, e);
            if s < start {
                self.put_run(s, start);
            }
            if e > end {
                self.put_run(end, e);
            }
            next = self.runs.range(start..end).next().map(|(s, e)| (*s, *e));
        }
        before - self.len
    }

    /// Takes up to `n` of the smallest members out, as runs in order.
    pub fn take_first(&mut self, n: u64) -> Vec<OrdinalRange> {
        let mut taken = Vec::new();
        let mut left = n;
        while left > 0 {
            let Some(run) = self.first_range() else { break };
            let part = OrdinalRange::new(run.start, run.len.min(left));
            self.remove(part);
            left -= part.len;
            taken.push(part);
        }
        taken
    }

    /// The members of `range` that are in this set, as runs in order.
    pub fn intersect(&self, range: OrdinalRange) -> Vec<OrdinalRange> {
        self.within(range).collect()
    }

    /// The same, one run after the other.
    pub fn within(&self, range: OrdinalRange) -> impl Iterator<Item = OrdinalRange> + '_ {
        let (start, end) = (range.start.0, range.end().0);
        let before = self.runs.range(..start).next_back().map(|(s, e)| (*s, *e));
        let within = self.runs.range(start..end).map(|(s, e)| (*s, *e));
        before.into_iter().chain(within).filter_map(move |(s, e)| {
            let (s, e) = (s.max(start), e.min(end));
            (s < e).then(|| OrdinalRange::new(Ordinal(s), e - s))
        })
    }

    fn put_run(&mut self, start: u64, end: u64) {
        self.runs.insert(start, end);
        self.len += end - start;
    }

    fn drop_run(&mut self, start: u64, end: u64) {
        self.runs.remove(&start);
        self.len -= end - start;
    }
}

impl FromIterator<OrdinalRange> for RangeSet {
    fn from_iter<I: IntoIterator<Item = OrdinalRange>>(ranges: I) -> Self {
        let mut set = Self::new();
        for range in ranges {
            set.insert(range);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn members(set: &RangeSet) -> BTreeSet<u64> {
        set.iter().flat_map(OrdinalRange::iter).map(|o| o.0).collect()
    }

    proptest! {
        #[test]
        fn behaves_like_a_set(steps in prop::collection::vec((0u8..3, 0u64..40, 0u64..12), 0..60)) {
            let mut set = RangeSet::new();
            let mut model = BTreeSet::new();
            for (op, start, len) in steps {
                let range = OrdinalRange::new(Ordinal(start), len);
                match op {
                    0 => {
                        set.insert(range);
                        model.extend(start..start + len);
                    }
                    1 => {
                        let gone = (start..start + len).filter(|o| model.remove(o)).count() as u64;
                        prop_assert_eq!(set.remove(range), gone);
                    }
                    _ => {
                        let taken: Vec<u64> = set.take_first(len).into_iter().flat_map(OrdinalRange::iter).map(|o| o.0).collect();
                        let expected: Vec<u64> = model.iter().copied().take(len as usize).collect();
                        for o in &expected {
                            model.remove(o);
                        }
                        prop_assert_eq!(taken, expected);
                    }
                }
                prop_assert_eq!(&members(&set), &model);
                prop_assert_eq!(set.len(), model.len() as u64);
                prop_assert_eq!(set.contains(Ordinal(start)), model.contains(&start));
                let run = set.run_of(Ordinal(start));
                prop_assert!(run.is_none_or(|run| run.contains(Ordinal(start)) && set.iter().any(|other| other == run)));
                let cut: BTreeSet<u64> = set.intersect(range).into_iter().flat_map(OrdinalRange::iter).map(|o| o.0).collect();
                prop_assert_eq!(cut, model.range(start..start + len).copied().collect::<BTreeSet<_>>());
                let gaps_exist = set.iter().zip(set.iter().skip(1)).all(|(a, b)| a.end() < b.start);
                prop_assert!(gaps_exist, "adjacent runs are joined");
            }
        }
    }
}

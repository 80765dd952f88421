//! What is known of lanes, as runs: those that were opened together have consecutive numbers, and are alike.

use std::collections::BTreeMap;

use hq_core::{Epoch, GrantId};

/// Lanes and a value for each; size and cost follow the number of runs of equal ones.
#[derive(Debug)]
pub(crate) struct LaneRuns<V> {
    /// First number to the end (exclusive) and the value. Runs that touch have different values.
    runs: BTreeMap<u64, (u64, V)>,
}

/// Lanes of which nothing more is to be said.
pub(crate) type LaneSet = LaneRuns<()>;

impl<V> Default for LaneRuns<V> {
    fn default() -> Self {
        Self { runs: BTreeMap::new() }
    }
}

impl<V: Copy + Eq> LaneRuns<V> {
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.runs.clear();
    }

    /// Lanes in order as runs of consecutive numbers: the first one, and how many.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (GrantId, u64)> + '_ {
        self.runs.iter().map(|(start, (end, _))| (grant_of(*start), end - start))
    }

    /// Lanes in order.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = GrantId> + '_ {
        self.runs.iter().flat_map(|(start, (end, _))| (*start..*end).map(grant_of))
    }

    /// Adds `n` lanes from `first` on, or changes what is known of them.
    pub(crate) fn insert_all(&mut self, first: GrantId, n: u64, value: V) {
        let start = number_of(first);
        let end = start.saturating_add(n);
        let is_new = self.runs.range(..end).next_back().is_none_or(|(_, (before, _))| *before <= start);
        if is_new && n > 1 {
            // All but the last one become a run; that one joins it with those around it.
            self.runs.insert(start, (end - 1, value));
            let before = self.runs.range_mut(..start).next_back();
            if let Some((_, (last, _))) = before.filter(|(_, (last, known))| *last == start && *known == value) {
                *last = end - 1;
                self.runs.remove(&start);
            }
            self.insert(grant_of(end - 1), value);
        } else {
            (start..end).for_each(|number| self.insert(grant_of(number), value));
        }
    }

    /// Adds a lane, or changes what is known of it.
    pub(crate) fn insert(&mut self, grant: GrantId, value: V) {
        let at = number_of(grant);
        if let Some((start, (end, known))) = self.runs.range_mut(..=at.saturating_add(1)).next_back()
            && *start <= at
            && *known == value
        {
            if at < *end {
                return;
            }
            if at == *end {
                // The usual: behind the last one.
                *end += 1;
                return;
            }
        }
        self.remove(grant);
        let mut end = at.saturating_add(1);
        if let Some((after, known)) = self.runs.get(&end).copied()
            && known == value
        {
            self.runs.remove(&end);
            end = after;
        }
        match self.runs.range_mut(..at).next_back() {
            Some((_, (before, known))) if *before == at && *known == value => *before = end,
            _ => _ = self.runs.insert(at, (end, value)),
        }
    }

    /// Removes a lane; says what was known of it.
    pub(crate) fn remove(&mut self, grant: GrantId) -> Option<V> {
        let at = number_of(grant);
        let (start, run) = self.runs.range_mut(..=at).next_back().filter(|(_, (end, _))| at < *end)?;
        let (start, (end, value)) = (*start, *run);
        if start < at {
            run.0 = at;
        } else {
            self.runs.remove(&at);
        }
        if at + 1 < end {
            self.runs.insert(at + 1, (end, value));
        }
        Some(value)
    }
}

impl FromIterator<GrantId> for LaneSet {
    fn from_iter<I: IntoIterator<Item = GrantId>>(lanes: I) -> Self {
        let mut set = Self::default();
        lanes.into_iter().for_each(|grant| set.insert(grant, ()));
        set
    }
}

const fn number_of(grant: GrantId) -> u64 {
    (grant.epoch.0 as u64) << 32 | grant.n as u64
}

const fn grant_of(number: u64) -> GrantId {
    GrantId { epoch: Epoch((number >> 32) as u32), n: number as u32 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn is_a_map(steps in prop::collection::vec((0u8..4, 0u32..30, 0u8..3, 0u32..5), 0..80)) {
            let mut model: BTreeMap<GrantId, u8> = BTreeMap::new();
            let mut runs = LaneRuns::default();
            // Some of two epochs.
            let name = |n: u32| GrantId { epoch: Epoch(n / 20), n: if n < 20 { u32::MAX - 19 + n } else { n - 20 } };
            for (step, n, value, many) in steps {
                match step {
                    0 => {
                        model.insert(name(n), value);
                        runs.insert(name(n), value);
                    }
                    1 => {
                        model.extend((n..n + many).map(|n| (name(n), value)));
                        runs.insert_all(name(n), many.into(), value);
                    }
                    _ => prop_assert_eq!(runs.remove(name(n)), model.remove(&name(n))),
                }
                prop_assert!(runs.lanes().eq(model.keys().copied()));
                prop_assert_eq!(runs.is_empty(), model.is_empty());
                let touching = runs.runs.iter().zip(runs.runs.iter().skip(1)).filter(|((_, (end, _)), (start, _))| end == *start);
                prop_assert!(touching.into_iter().all(|((_, (_, a)), (_, (_, b)))| a != b), "alike runs are joined");
            }
        }
    }
}

use std::collections::VecDeque;

use hq_core::{Ordinal, OrdinalRange};

const NONE: OrdinalRange = OrdinalRange::new(Ordinal(0), 0);

/// Tasks in order, as ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TaskQueue {
    /// Most lanes have one range at a time. [`NONE`] where there is no task.
    first: OrdinalRange,
    /// The other ranges, which few lanes have.
    #[expect(clippy::box_collection, reason = "what all lanes have is to be small")]
    rest: Option<Box<VecDeque<OrdinalRange>>>,
    len: u64,
}

impl Default for TaskQueue {
    fn default() -> Self {
        Self { first: NONE, rest: None, len: 0 }
    }
}

impl TaskQueue {
    pub(crate) const fn one(task: Ordinal) -> Self {
        Self { first: OrdinalRange::one(task), rest: None, len: 1 }
    }

    pub(crate) const fn len(&self) -> u64 {
        self.len
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = OrdinalRange> + '_ {
        (self.len > 0).then_some(self.first).into_iter().chain(self.rest.iter().flat_map(|rest| rest.iter().copied()))
    }

    pub(crate) fn contains(&self, task: Ordinal) -> bool {
        self.iter().any(|range| range.contains(task))
    }

    pub(crate) fn push(&mut self, range: OrdinalRange) {
        if range.len == 0 {
            return;
        }
        if self.len == 0 {
            (self.first, self.len) = (range, range.len);
            return;
        }
        self.len += range.len;
        let last = self.rest.as_mut().and_then(|rest| rest.back_mut()).unwrap_or(&mut self.first);
        if last.end() == range.start {
            last.len += range.len;
        } else {
            self.rest.get_or_insert_default().push_back(range);
        }
    }

    /// Removes the members of `range` that are there; says which they were.
    pub(crate) fn remove(&mut self, range: OrdinalRange) -> Vec<OrdinalRange> {
        if range.len == 0 {
            return vec![];
        }
        // The front is where tasks leave almost always.
        let first = &mut self.first;
        if first.start == range.start && first.len >= range.len {
            first.start = first.start.plus(range.len);
            first.len -= range.len;
            self.len -= range.len;
            if first.len == 0 {
                self.first = self.pop_rest().unwrap_or(NONE);
            }
            return vec![range];
        }
        let mut removed = Vec::new();
        let mut kept = Self::default();
        for own in self.iter() {
            let (start, end) = (own.start.max(range.start), own.end().min(range.end()));
            if start >= end {
                kept.push(own);
                continue;
            }
            removed.push(OrdinalRange::new(start, end.0 - start.0));
            for (from, to) in [(own.start, start), (end, own.end())] {
                if from < to {
                    kept.push(OrdinalRange::new(from, to.0 - from.0));
                }
            }
        }
        *self = kept;
        removed
    }

    fn pop_rest(&mut self) -> Option<OrdinalRange> {
        let rest = self.rest.as_mut()?;
        let next = rest.pop_front();
        if rest.is_empty() {
            self.rest = None;
        }
        next
    }

    /// The members of `range` that are there.
    pub(crate) fn intersect(&self, range: OrdinalRange) -> Vec<OrdinalRange> {
        let cut = |own: OrdinalRange| {
            let (start, end) = (own.start.max(range.start), own.end().min(range.end()));
            (start < end).then(|| OrdinalRange::new(start, end.0 - start.0))
        };
        self.iter().filter_map(cut).collect()
    }
}

impl FromIterator<OrdinalRange> for TaskQueue {
    fn from_iter<I: IntoIterator<Item = OrdinalRange>>(ranges: I) -> Self {
        let mut queue = Self::default();
        ranges.into_iter().for_each(|range| queue.push(range));
        queue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_and_count() {
        let mut queue = TaskQueue::default();
        queue.push(OrdinalRange::new(Ordinal(10), 5));
        queue.push(OrdinalRange::new(Ordinal(15), 5));
        queue.push(OrdinalRange::new(Ordinal(0), 2));
        assert_eq!(queue.iter().count(), 2);
        assert_eq!(queue.remove(OrdinalRange::new(Ordinal(12), 3)), [OrdinalRange::new(Ordinal(12), 3)]);
        assert_eq!(queue.remove(OrdinalRange::one(Ordinal(10))).len(), 1);
        assert_eq!(queue.remove(OrdinalRange::one(Ordinal(10))), []);
        let rest: Vec<u64> = queue.iter().flat_map(OrdinalRange::iter).map(|o| o.0).collect();
        assert_eq!(rest, [11, 15, 16, 17, 18, 19, 0, 1]);
        assert_eq!(queue.len(), 8);
        assert!(queue.contains(Ordinal(1)) && !queue.contains(Ordinal(12)));
    }
}

use std::collections::VecDeque;

use hq_core::{Ordinal, OrdinalRange};

/// Tasks in order, as ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TaskQueue {
    ranges: VecDeque<OrdinalRange>,
    len: u64,
}

impl TaskQueue {
    pub(crate) const fn len(&self) -> u64 {
        self.len
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = OrdinalRange> + '_ {
        self.ranges.iter().copied()
    }

    pub(crate) fn contains(&self, task: Ordinal) -> bool {
        self.ranges.iter().any(|range| range.contains(task))
    }

    pub(crate) fn push(&mut self, range: OrdinalRange) {
        if range.len == 0 {
            return;
        }
        self.len += range.len;
        match self.ranges.back_mut() {
            Some(last) if last.end() == range.start => last.len += range.len,
            _ => self.ranges.push_back(range),
        }
    }

    /// Removes the members of `range` that are there; says which they were.
    pub(crate) fn remove(&mut self, range: OrdinalRange) -> Vec<OrdinalRange> {
        // The front is where tasks leave almost always.
        if let Some(front) = self.ranges.front_mut()
            && front.start == range.start
            && front.len >= range.len
        {
            front.start = front.start.plus(range.len);
            front.len -= range.len;
            self.len -= range.len;
            if front.len == 0 {
                self.ranges.pop_front();
            }
            return if range.len == 0 { vec![] } else { vec![range] };
        }
        let mut removed = Vec::new();
        let mut kept = VecDeque::with_capacity(self.ranges.len() + 1);
        for own in self.ranges.drain(..) {
            let (start, end) = (own.start.max(range.start), own.end().min(range.end()));
            if start >= end {
                kept.push_back(own);
                continue;
            }
            removed.push(OrdinalRange::new(start, end.0 - start.0));
            for (from, to) in [(own.start, start), (end, own.end())] {
                if from < to {
                    kept.push_back(OrdinalRange::new(from, to.0 - from.0));
                }
            }
        }
        self.ranges = kept;
        self.len -= removed.iter().map(|range| range.len).sum::<u64>();
        removed
    }

    /// The members of `range` that are there.
    pub(crate) fn intersect(&self, range: OrdinalRange) -> Vec<OrdinalRange> {
        let cut = |own: &OrdinalRange| {
            let (start, end) = (own.start.max(range.start), own.end().min(range.end()));
            (start < end).then(|| OrdinalRange::new(start, end.0 - start.0))
        };
        self.ranges.iter().filter_map(cut).collect()
    }
}

impl FromIterator<OrdinalRange> for TaskQueue {
    fn from_iter<I: IntoIterator<Item = OrdinalRange>>(ranges: I) -> Self {
        let ranges = ranges.into_iter();
        // Most lanes have one range at a time.
        let mut queue = Self { ranges: VecDeque::with_capacity(ranges.size_hint().0), len: 0 };
        ranges.for_each(|range| queue.push(range));
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

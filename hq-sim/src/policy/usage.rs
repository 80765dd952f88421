use hq_core::{Amount, ResourceName, Span, Tick};
use serde::Serialize;

/// How much of a resource all workers together used, over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// The resource.
    pub resource: ResourceName,
    /// How much there is.
    pub total: Amount,
    /// From the first arrival …
    pub from: Tick,
    /// … until it was over.
    pub to: Tick,
    /// From each of these moments on, that much is used; before the first, nothing.
    pub steps: Vec<(Tick, Amount)>,
}

impl Usage {
    pub(super) const fn new(resource: ResourceName, total: Amount) -> Self {
        Self { resource, total, from: Tick(0), to: Tick(0), steps: vec![] }
    }

    /// What is used at a moment.
    pub fn at(&self, moment: Tick) -> Amount {
        let next = self.steps.partition_point(|(at, _)| *at <= moment);
        next.checked_sub(1).map_or(Amount::ZERO, |i| self.steps[i].1)
    }

    pub(super) fn set(&mut self, now: Tick, used: Amount) {
        match self.steps.last_mut() {
            Some((at, last)) if *at == now => *last = used,
            _ => self.steps.push((now, used)),
        }
    }

    /// Share of the resource that was used, from 0 to 1.
    pub fn mean(&self) -> f64 {
        self.buckets(1).first().copied().unwrap_or(0.0)
    }

    /// The same for `n` equal parts of the time, to be drawn.
    pub fn buckets(&self, n: usize) -> Vec<f64> {
        let length = u128::from(self.to.since(self.from).0);
        // A bucket's borders are multiples of 1/n µs: all times are taken n-fold.
        let n = n.max(1) as u128;
        let mut areas = vec![0u128; n as usize];
        for (i, (at, used)) in self.steps.iter().enumerate() {
            let next = self.steps.get(i + 1).map_or(self.to, |(next, _)| *next).min(self.to);
            let (mut from, to) = (n * self.offset(*at), n * self.offset(next));
            while from < to {
                let bucket = from / length.max(1);
                let end = to.min((bucket + 1) * length);
                areas[bucket as usize] += (end - from) * u128::from(used.parts());
                from = end;
            }
        }
        let whole = length.max(1) as f64 * self.total.parts().max(1) as f64;
        areas.into_iter().map(|area| area as f64 / whole).collect()
    }

    fn offset(&self, at: Tick) -> u128 {
        let Span(offset) = at.since(self.from);
        offset.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_over_time() {
        let mut usage = Usage::new(ResourceName::cpus(), Amount::units(4));
        (usage.from, usage.to) = (Tick(10), Tick(40));
        for (at, used) in [(10, 4), (20, 1), (20, 2), (35, 0)] {
            usage.set(Tick(at), Amount::units(used));
        }
        assert_eq!(usage.steps.len(), 3, "one moment is one step");
        assert_eq!([5, 10, 19, 20, 39].map(|at| usage.at(Tick(at)).whole()), [0, 4, 4, 2, 0]);
        assert_eq!(usage.buckets(3), [1.0, 0.5, 0.25]);
        assert_eq!(usage.buckets(2), [(10.0 * 4.0 + 5.0 * 2.0) / 60.0, 20.0 / 60.0]);
        assert!((usage.mean() - 70.0 / 120.0).abs() < 1e-12);
    }
}

use hq_core::{Amount, ResourceName, Span, Tick};
use serde::Serialize;

/// How much of a resource all workers together used, over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// The resource.
    pub resource: ResourceName,
    /// The most that was there at one moment.
    pub total: Amount,
    /// From the first arrival …
    pub from: Tick,
    /// … until it was over.
    pub to: Tick,
    /// From each of these moments on, that much is used; before the first, nothing.
    pub steps: Vec<(Tick, Amount)>,
    /// From each of these moments on, that much is there, used or not.
    pub offered: Vec<(Tick, Amount)>,
}

impl Usage {
    pub(super) const fn new(resource: ResourceName) -> Self {
        Self { resource, total: Amount::ZERO, from: Tick(0), to: Tick(0), steps: vec![], offered: vec![] }
    }

    /// What is used at a moment.
    pub fn at(&self, moment: Tick) -> Amount {
        let next = self.steps.partition_point(|(at, _)| *at <= moment);
        next.checked_sub(1).map_or(Amount::ZERO, |i| self.steps[i].1)
    }

    /// The most that was used at one moment.
    pub fn peak(&self) -> Amount {
        self.steps.iter().map(|(_, used)| *used).max().unwrap_or_default()
    }

    pub(super) fn set(&mut self, now: Tick, used: Amount) {
        set_step(&mut self.steps, now, used);
    }

    /// That much is there from now on.
    pub(super) fn offer(&mut self, now: Tick, amount: Amount) {
        set_step(&mut self.offered, now, amount);
        self.total = self.total.max(amount);
    }

    /// Share of what was there that was used, from 0 to 1.
    pub fn mean(&self) -> f64 {
        self.buckets(1).first().copied().unwrap_or(0.0)
    }

    /// The same for `n` equal parts of the time, to be drawn.
    pub fn buckets(&self, n: usize) -> Vec<f64> {
        let (used, offered) = (self.areas(&self.steps, n), self.areas(&self.offered, n));
        used.into_iter().zip(offered).map(|(used, offered)| used as f64 / offered.max(1) as f64).collect()
    }

    /// Share of [`total`](Self::total) that was used in `n` equal parts of the time.
    pub fn levels(&self, n: usize) -> Vec<f64> {
        let length = self.to.since(self.from).0.max(1) as f64;
        let whole = length * self.total.parts().max(1) as f64;
        self.areas(&self.steps, n).into_iter().map(|used| used as f64 / whole).collect()
    }

    /// Amount × time in `n` equal parts of the time.
    fn areas(&self, steps: &[(Tick, Amount)], n: usize) -> Vec<u128> {
        let length = u128::from(self.to.since(self.from).0);
        // A bucket's borders are multiples of 1/n µs: all times are taken n-fold.
        let n = n.max(1) as u128;
        let mut areas = vec![0u128; n as usize];
        for (i, (at, amount)) in steps.iter().enumerate() {
            let next = steps.get(i + 1).map_or(self.to, |(next, _)| *next).min(self.to);
            let (mut from, to) = (n * self.offset(*at), n * self.offset(next));
            while from < to {
                let bucket = from / length.max(1);
                let end = to.min((bucket + 1) * length);
                areas[bucket as usize] += (end - from) * u128::from(amount.parts());
                from = end;
            }
        }
        areas
    }

    fn offset(&self, at: Tick) -> u128 {
        let Span(offset) = at.since(self.from);
        offset.into()
    }
}

fn set_step(steps: &mut Vec<(Tick, Amount)>, now: Tick, amount: Amount) {
    match steps.last_mut() {
        Some((at, last)) if *at == now => *last = amount,
        _ => steps.push((now, amount)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_over_time() {
        let mut usage = Usage::new(ResourceName::cpus());
        usage.offer(Tick(0), Amount::units(4));
        (usage.from, usage.to) = (Tick(10), Tick(40));
        for (at, used) in [(10, 4), (20, 1), (20, 2), (35, 0)] {
            usage.set(Tick(at), Amount::units(used));
        }
        assert_eq!(usage.steps.len(), 3, "one moment is one step");
        assert_eq!([5, 10, 19, 20, 39].map(|at| usage.at(Tick(at)).whole()), [0, 4, 4, 2, 0]);
        assert_eq!(usage.buckets(3), [1.0, 0.5, 0.25]);
        assert_eq!(usage.buckets(2), [(10.0 * 4.0 + 5.0 * 2.0) / 60.0, 20.0 / 60.0]);
        assert!((usage.mean() - 70.0 / 120.0).abs() < 1e-12);
        assert_eq!((usage.peak(), usage.total), (Amount::units(4), Amount::units(4)));
        // Two of the four leave in the middle, and what is left was used wholly or half.
        usage.offer(Tick(25), Amount::units(2));
        assert_eq!(usage.buckets(2), [50.0 / 60.0, 20.0 / 30.0]);
        assert_eq!(usage.levels(2), [50.0 / 60.0, 20.0 / 60.0]);
    }
}

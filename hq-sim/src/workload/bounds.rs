//! What no scheduler can beat, and the priorities of list scheduling.

use std::collections::BTreeSet;

use hq_core::{Amount, Quantity, Request, ResourceName, Span};

use super::Workload;

impl Workload {
    /// The longest chain of run times: no number of workers ends it sooner, arrivals left aside.
    pub fn critical_path(&self) -> Span {
        let mut ends: Vec<Span> = Vec::with_capacity(self.jobs().len());
        for job in self.jobs() {
            let start = job.deps.iter().filter_map(|on| ends.get(*on)).max().copied().unwrap_or_default();
            ends.push(Span(start.0.saturating_add(job.run.0)));
        }
        ends.into_iter().max().unwrap_or_default()
    }

    /// Cpu time of all tasks together, by the variant that takes the fewest cpus.
    pub fn work(&self) -> Span {
        let sum = self.jobs().iter().fold(0u128, |sum, job| {
            let cpus = job.request.iter().map(cpus).min().unwrap_or_default();
            sum.saturating_add(u128::from(job.run.0) * u128::from(cpus.parts()))
        });
        Span(u64::try_from(sum / u128::from(Amount::PARTS)).unwrap_or(u64::MAX))
    }

    /// No schedule on that many cpus is shorter: the critical path, or all work evenly spread.
    pub fn makespan_bound(&self, cpus: u64) -> Span {
        self.critical_path().max(Span(self.work().0.div_ceil(cpus.max(1))))
    }

    /// Longest chain of run times from the start of each task to the end of all.
    pub fn b_levels(&self) -> Vec<Span> {
        let mut levels: Vec<Span> = self.jobs().iter().map(|job| job.run).collect();
        for (i, job) in self.jobs().iter().enumerate().rev() {
            for on in &job.deps {
                levels[*on] = levels[*on].max(Span(levels[i].0.saturating_add(self.jobs()[*on].run.0)));
            }
        }
        levels
    }

    /// The same with priorities by b-level, so that an order by priority is list scheduling.
    #[must_use]
    pub fn by_b_level(self) -> Self {
        let levels = self.b_levels();
        let distinct: Vec<Span> = levels.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        self.with_priorities(|i, _| {
            let place = distinct.partition_point(|level| *level < levels[i]);
            i32::try_from(place).unwrap_or(i32::MAX)
        })
    }
}

fn cpus(request: &Request) -> Amount {
    let entry = request.entries().iter().find(|entry| entry.resource.as_str() == ResourceName::CPUS);
    match entry.map(|entry| entry.quantity) {
        Some(Quantity::Amount(amount, _)) => amount,
        // How many that are is the worker's to say.
        Some(Quantity::All) | None => Amount::ZERO,
    }
}

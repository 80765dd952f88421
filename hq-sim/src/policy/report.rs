use std::fmt;

use hq_core::{Span, Tick, WorkerId};
use serde::Serialize;

use super::usage::Usage;

/// What came of it. Times are exact, in virtual microseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Tasks of the workload that arrived.
    pub arrived: u64,
    /// Those that were started.
    pub started: u64,
    /// Those that ended well.
    pub finished: u64,
    /// Runs that were cut because a worker's time was over. Their tasks ran again, if there was a place.
    pub lost: u64,
    /// From the first arrival to the last end; where it was cut, to then.
    pub makespan: Span,
    /// How long the started ones waited for their last run: from their arrival, or from the end of the last task they waited for.
    pub waits: Waits,
    /// Mean of the bounded slowdown of the started ones: (wait + run) ÷ run, runs below 10 s taken as 10 s, 1 at least.
    pub slowdown_mean: f64,
    /// 95 % of them are not larger.
    pub slowdown_p95: f64,
    /// The largest.
    pub slowdown_max: f64,
    /// Jain's index over the users' mean bounded slowdowns: 1 where all fare alike, 1/n where one bears it all. None without
    /// users.
    pub jain: Option<f64>,
    /// Tasks given to lanes.
    pub decisions: u64,
    /// Times that the core was asked what to do.
    pub rounds: u64,
    /// Facts that came of it.
    pub facts: u64,
    /// Per resource that workers have, by name.
    pub usage: Vec<Usage>,
    /// Per resource that tasks ask for and workers have, by name: how much of what was free was of no use. At each moment that
    /// is, summed over the workers, what a typical task that asks for the resource could not have got there (see
    /// [`Pools::useless`](hq_scheduler::pool::Pools::useless)): all that is free where it does not fit, else what is left of
    /// indices too small for its share. It is the mean over the tasks of the workload, without the rarest classes that make
    /// 5 % of them. What a gang holds is in use.
    pub useless: Vec<Usage>,
    /// Per task of the workload, if it was started; of one that was cut, the last run.
    #[serde(skip)]
    pub runs: Vec<Option<Run>>,
}

/// Where and when a task ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// On which worker, counted from 1 as they were given; of a gang, the main one.
    pub worker: WorkerId,
    /// From then …
    pub start: Tick,
    /// … to then; none where it ran on when it was cut.
    pub end: Option<Tick>,
}

/// A distribution of waits. Percentiles are waits that occurred (nearest rank).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Waits {
    /// Arithmetic mean, rounded down.
    pub mean: Span,
    /// Half of them are not longer.
    pub p50: Span,
    /// 95 % of them are not longer.
    pub p95: Span,
    /// 99 % of them are not longer.
    pub p99: Span,
    /// The longest.
    pub max: Span,
}

impl Waits {
    /// Of these, in any order.
    pub fn new(mut waits: Vec<Span>) -> Self {
        waits.sort_unstable();
        let Some(max) = waits.last().copied() else { return Self::default() };
        let sum: u128 = waits.iter().map(|wait| u128::from(wait.0)).sum();
        let percentile = |percent: usize| waits[(waits.len() * percent).div_ceil(100).max(1) - 1];
        Self {
            mean: Span((sum / waits.len() as u128) as u64),
            p50: percentile(50),
            p95: percentile(95),
            p99: percentile(99),
            max,
        }
    }
}

impl Report {
    /// Share of a resource that was used from the first arrival to the end, from 0 to 1; 0 for one that nobody has.
    pub fn utilisation(&self, resource: &str) -> f64 {
        self.usage_of(resource).map_or(0.0, Usage::mean)
    }

    /// Fragmentation of a resource: which share of what was free was of no use, from the first arrival to the end, from 0 to 1
    /// (see [`useless`](Self::useless)). 0 where nothing was free, and for one that nobody has or asks for.
    pub fn fragmentation(&self, resource: &str) -> f64 {
        let useless = self.useless.iter().find(|usage| usage.resource.as_str() == resource).map_or(0.0, Usage::mean);
        let free = 1.0 - self.usage_of(resource).map_or(1.0, Usage::mean);
        if free > 0.0 { (useless / free).min(1.0) } else { 0.0 }
    }

    /// A resource over time.
    pub fn usage_of(&self, resource: &str) -> Option<&Usage> {
        self.usage.iter().find(|usage| usage.resource.as_str() == resource)
    }
}

/// A few lines for people.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waits = &self.waits;
        let seconds = |span: Span| span.as_secs_f64();
        writeln!(f, "tasks      {} arrived, {} started, {} finished", self.arrived, self.started, self.finished)?;
        writeln!(f, "makespan   {:.3} s", seconds(self.makespan))?;
        writeln!(
            f,
            "wait       mean {:.1} s, p50 {:.1}, p95 {:.1}, p99 {:.1}, max {:.1}",
            seconds(waits.mean),
            seconds(waits.p50),
            seconds(waits.p95),
            seconds(waits.p99),
            seconds(waits.max)
        )?;
        write!(
            f,
            "slowdown   mean {:.2}, p95 {:.1}, max {:.1}",
            self.slowdown_mean, self.slowdown_p95, self.slowdown_max
        )?;
        if let Some(jain) = self.jain {
            write!(f, ", Jain's index over users {jain:.3}")?;
        }
        writeln!(f)?;
        for usage in &self.usage {
            let share = usage.mean() * 100.0;
            write!(f, "{:<10} {share:.2} % used, peak {} of {}", usage.resource, usage.peak(), usage.total)?;
            match self.fragmentation(usage.resource.as_str()) {
                0.0 => writeln!(f)?,
                share => writeln!(f, ", {:.2} % of the rest of no use", share * 100.0)?,
            }
        }
        write!(f, "work       {} decisions, {} rounds, {} facts", self.decisions, self.rounds, self.facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_waits_that_occurred() {
        let waits = Waits::new((1..=200).rev().map(Span).collect());
        let shown = [waits.mean, waits.p50, waits.p95, waits.p99, waits.max].map(|span| span.0);
        assert_eq!(shown, [100, 100, 190, 198, 200]);
        assert_eq!(Waits::new(vec![Span(7)]).p50, Span(7));
        assert_eq!(Waits::new(vec![]), Waits::default());
    }
}

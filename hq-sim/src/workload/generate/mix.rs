use hq_core::{Request, Rng, Span};

use crate::workload::{Workload, WorkloadError, WorkloadTask};

/// `n` equal tasks at the beginning.
///
/// # Errors
/// For more tasks than can be numbered.
pub fn array(n: usize, request: &Request, run: Span) -> Result<Workload, WorkloadError> {
    Workload::new("array", vec![WorkloadTask::new(run, request.clone()); n])
}

/// A random mix of batch jobs: sizes by powers of two, run times spread evenly over magnitudes, estimates too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix {
    /// How many jobs.
    pub jobs: usize,
    /// The most cpus of a job.
    pub cpus_max: u32,
    /// The shortest run.
    pub run_min: Span,
    /// The longest run.
    pub run_max: Span,
    /// The mean time between two arrivals; none: all come at the beginning.
    pub gap: Span,
    /// How many users there are; user `n` is about twice as active as user `n + 1`.
    pub users: u32,
}

impl Mix {
    /// 1,000 jobs of ten users on up to 32 cpus, a second to an hour long, one a minute.
    pub const SMALL: Self = Self {
        jobs: 1_000,
        cpus_max: 32,
        run_min: Span::secs(1),
        run_max: Span::secs(3_600),
        gap: Span::secs(60),
        users: 10,
    };

    /// Jobs drawn from `rng`.
    ///
    /// # Errors
    /// For no cpus, and for more jobs than can be numbered.
    pub fn workload(&self, rng: &mut Rng) -> Result<Workload, WorkloadError> {
        let mut arrival = Span::ZERO;
        let mut jobs = Vec::with_capacity(self.jobs);
        for _ in 0..self.jobs {
            arrival.0 = arrival.0.saturating_add(rng.range(0, self.gap.times(2).0));
            let size = 1u64 << rng.range(0, u64::from(self.cpus_max.max(1).ilog2()));
            let cpus = if rng.chance(75) { size } else { rng.range(1, u64::from(self.cpus_max)) };
            let run = log_range(rng, self.run_min.0, self.run_max.0);
            let estimate = Span(run).times(rng.range(1, 10)).0.min(self.run_max.0).max(run);
            let user = (0..self.users.saturating_sub(1)).find(|_| rng.chance(50));
            jobs.push(WorkloadTask {
                arrival,
                estimate: Some(Span(estimate)),
                user: (self.users > 0).then(|| user.unwrap_or(self.users - 1)),
                ..WorkloadTask::new(Span(run), Request::cpus(cpus as u32)?)
            });
        }
        Workload::new("mix", jobs)
    }
}

/// A number in `low..=high`, each magnitude about as often as another.
fn log_range(rng: &mut Rng, low: u64, high: u64) -> u64 {
    let (low, high) = (low.max(1), high.max(low).max(1));
    let bits = rng.range(u64::from(low.ilog2()), u64::from(high.ilog2()));
    let (from, to) = (1u64 << bits, (1u64 << bits).saturating_mul(2) - 1);
    rng.range(from.max(low), to.min(high))
}

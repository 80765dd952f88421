use hq_core::{Refusal, Span, WorkerConfig};
use hq_scheduler::{
    JoinRefused, Scheduler,
    policy::{Order, Placement},
};

use super::{report::Report, run};
use crate::workload::Workload;

/// A workload, a cluster and a policy.
///
/// Workers are there from the beginning and stay: their limits of time and idleness are left aside. Tasks run as long as the
/// workload says wherever they are, and end well. Estimates are handed to the core as time limits, and not enforced.
///
/// One seed is one run. It decides in which order the ends of one moment are heard of, and nothing else.
#[derive(Debug)]
pub struct Simulation<'a> {
    pub(super) seed: u64,
    pub(super) workers: Vec<WorkerConfig>,
    pub(super) workload: Option<&'a Workload>,
    pub(super) policy: Option<(String, String)>,
    pub(super) until: Option<Span>,
    pub(super) scheduler: Scheduler,
}

/// Why a simulation cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimulationError {
    /// An order or placement that nobody made known.
    #[error("the policy cannot be chosen: {0}")]
    Policy(Refusal),
    /// A worker that the core does not take.
    #[error("worker {index} is refused: {error}")]
    Worker {
        /// Which, from 0.
        index: usize,
        /// Why.
        error: JoinRefused,
    },
    /// Tasks that the core does not take.
    #[error("task {first} and those submitted with it are refused: {error}")]
    Submit {
        /// Index of the first of them.
        first: usize,
        /// Why.
        error: Refusal,
    },
}

impl<'a> Simulation<'a> {
    /// No workers, no workload, the default policy.
    pub fn new(seed: u64) -> Self {
        Self { seed, workers: vec![], workload: None, policy: None, until: None, scheduler: Scheduler::new() }
    }

    /// Workers, behind those that are there already.
    #[must_use]
    pub fn workers(mut self, count: usize, config: &WorkerConfig) -> Self {
        let config = WorkerConfig { time_limit: None, idle_timeout: None, ..config.clone() };
        self.workers.extend(std::iter::repeat_n(config, count));
        self
    }

    /// What they have to do.
    #[must_use]
    pub const fn workload(mut self, workload: &'a Workload) -> Self {
        self.workload = Some(workload);
        self
    }

    /// Who decides, by name.
    #[must_use]
    pub fn policy(mut self, order: &str, placement: &str) -> Self {
        self.policy = Some((order.to_owned(), placement.to_owned()));
        self
    }

    /// Makes an order of one's own known.
    #[must_use]
    pub fn add_order(mut self, order: Box<dyn Order>) -> Self {
        self.scheduler.add_order(order);
        self
    }

    /// Makes a placement of one's own known.
    #[must_use]
    pub fn add_placement(mut self, placement: Box<dyn Placement>) -> Self {
        self.scheduler.add_placement(placement);
        self
    }

    /// Ends it at that time, where something is left to do then.
    #[must_use]
    pub const fn until(mut self, until: Span) -> Self {
        self.until = Some(until);
        self
    }

    /// Runs until nothing runs and nothing arrives any more. Tasks that nobody starts then are counted, no error.
    ///
    /// # Errors
    /// For an unknown policy, and for workers or tasks that the core refuses.
    pub fn run(self) -> Result<Report, SimulationError> {
        run::run(self)
    }
}

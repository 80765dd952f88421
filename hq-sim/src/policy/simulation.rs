use hq_core::{Refusal, Span, Tick, WorkerConfig};
use hq_scheduler::{
    JoinRefused, Scheduler,
    policy::{Order, Placement},
};

use super::{
    event::{Event, Observer},
    report::Report,
    run,
};
use crate::{machines::WorkerGroup, workload::Workload};

/// A workload, a cluster and a policy.
///
/// Workers go when their time limit is over, and what runs there then is run again elsewhere; else they stay, idle or not. Tasks
/// run as long as the workload says wherever they are, and end well. Estimates are handed to the core as time limits, and not
/// enforced.
///
/// One seed is one run. It decides in which order the ends of one moment are heard of, and nothing else.
#[derive(Debug)]
pub struct Simulation<'a> {
    pub(super) seed: u64,
    /// When each comes, and what it is.
    pub(super) workers: Vec<(Tick, WorkerConfig)>,
    pub(super) workload: Option<&'a Workload>,
    pub(super) policy: Option<(String, String)>,
    pub(super) until: Option<Span>,
    pub(super) scheduler: Scheduler,
    pub(super) observers: Vec<Observer<'a>>,
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
        Self {
            seed,
            workers: vec![],
            workload: None,
            policy: None,
            until: None,
            scheduler: Scheduler::new(),
            observers: vec![],
        }
    }

    /// Workers that are there from the beginning, behind those that are there already.
    #[must_use]
    pub fn workers(self, count: usize, config: &WorkerConfig) -> Self {
        self.workers_at(Span::ZERO, count, config)
    }

    /// Workers that come at that time. Ids are given as they come; at one moment, as they were added.
    #[must_use]
    pub fn workers_at(mut self, arrives: Span, count: usize, config: &WorkerConfig) -> Self {
        let config = WorkerConfig { idle_timeout: None, ..config.clone() };
        self.workers.extend(std::iter::repeat_n((Tick(arrives.0), config), count));
        self
    }

    /// The workers of a description ([`crate::machines`]).
    #[must_use]
    pub fn cluster(self, groups: &[WorkerGroup]) -> Self {
        groups
            .iter()
            .fold(self, |simulation, group| simulation.workers_at(group.arrives, group.count as usize, &group.config))
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

    /// Lets somebody look on.
    #[must_use]
    pub fn on_event(mut self, look: impl FnMut(Tick, &Event<'_>) + 'a) -> Self {
        self.observers.push(Observer::new(look));
        self
    }

    /// Writes a trace: a line per event, the time in microseconds first. The same seed writes the same text.
    #[must_use]
    pub fn trace_to(self, text: &'a mut String) -> Self {
        self.on_event(|now, event| text.push_str(&format!("{} {event}\n", now.0)))
    }

    /// Names of the orders that can be chosen, ascending.
    pub fn orders(&self) -> Vec<String> {
        self.scheduler.orders().map(str::to_owned).collect()
    }

    /// Names of the placements that can be chosen, ascending.
    pub fn placements(&self) -> Vec<String> {
        self.scheduler.placements().map(str::to_owned).collect()
    }

    /// Ends it at that time, where something is left to do then.
    #[must_use]
    pub const fn until(mut self, until: Span) -> Self {
        self.until = Some(until);
        self
    }

    /// Runs until nothing runs and nothing arrives any more, tasks or workers. Tasks that nobody starts then are counted, no error.
    ///
    /// # Errors
    /// For an unknown policy, and for workers or tasks that the core refuses.
    pub fn run(self) -> Result<Report, SimulationError> {
        run::run(self)
    }
}

use std::fmt;

use hq_core::{FromWorker, Record, RunId, Span, Tick, ToWorker, WorkerId};
use hq_node::StartOrder;
use hq_scheduler::Scheduler;

use super::*;
use crate::model::Model;

/// A rule that is watched. Stateful, so that it can be about more than one moment.
pub trait Invariant: fmt::Debug {
    /// Its id and name.
    fn name(&self) -> &'static str;

    /// Looks at one thing that happened.
    ///
    /// # Errors
    /// One line: how the rule is broken.
    fn observe(&mut self, step: &Step<'_>) -> Result<(), String>;
}

/// Picks one step in so many: what costs much is not looked at each time.
#[derive(Debug, Default)]
pub(super) struct Sample {
    steps: u64,
}

impl Sample {
    /// Counts a step; whether it is one in `every`.
    pub(super) const fn is_due(&mut self, every: u64) -> bool {
        self.steps += 1;
        self.steps.is_multiple_of(every)
    }
}

/// One thing that happened, and what was so before.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// When, by the server's clock.
    pub at: Tick,
    /// What.
    pub what: What<'a>,
    /// The books; a fact is not in them yet.
    pub model: &'a Model,
}

/// What can happen.
#[derive(Clone, Copy, Debug)]
pub enum What<'a> {
    /// The server appended this.
    Fact(&'a Record),
    /// The server told a worker this.
    Told(WorkerId, &'a ToWorker),
    /// The server is about to hear this; a step begins.
    Hears(&'a FromWorker, Freshness),
    /// A step of the server is over: all that follows from what it heard is told.
    Settled(&'a Scheduler),
    /// A worker began a run.
    Started(WorkerId, &'a StartOrder),
    /// A run on a worker is over.
    Ended(WorkerId, RunId),
    /// A worker's process is gone with all that ran there.
    Gone(WorkerId),
    /// The server is there anew, with these records; its boot comes next. The model has them all.
    Restarted(&'a [Record]),
    /// All tasks have ended and nothing is under way.
    Over(&'a Scheduler),
}

/// Whether a message says something new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// It does, as far as the network knows.
    New,
    /// It was delivered before, on the same link.
    Doubled,
    /// Its link is gone, or its worker was given up.
    Old,
}

/// Every invariant that watches a single run; `delay` is the longest that a message is under way.
pub fn all(delay: Span) -> Vec<Box<dyn Invariant>> {
    vec![
        Box::new(NoOversubscription::default()),
        Box::new(Conservation::default()),
        Box::new(OnePlace::default()),
        Box::new(LegalTransitions::default()),
        Box::new(StaleMessages::default()),
        Box::new(FitsIsAllocate::default()),
        Box::new(Dependencies::default()),
        Box::new(TimeLeft::new(delay)),
        Box::new(Gangs::default()),
        Box::new(Locality::default()),
        Box::new(ZeroAndHuge),
        Box::new(CrashCounts::default()),
        Box::new(Replay::default()),
        Box::new(GoneWorkers::new(delay)),
        Box::new(WorkConservation::default()),
        Box::new(NoInversion),
        Box::new(Backlogs::default()),
        Box::new(Infeasible::default()),
        Box::new(HonestDemand::default()),
        Box::new(CanceledStay::default()),
        Box::new(Idempotence::default()),
        Box::new(Retries::default()),
    ]
}

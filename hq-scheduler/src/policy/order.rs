use std::fmt;

use hq_core::{Ordinal, Span, Tick};

/// What an order sees of a queue: the waiting tasks of one class and priority.
#[derive(Clone, Copy, Debug)]
pub struct QueueView {
    /// The users' priority; larger is more urgent.
    pub priority: i32,
    /// The first waiting task.
    pub head: Ordinal,
    /// How many tasks directly behind one another in submit order wait at the head.
    pub head_run: u64,
    /// All that wait.
    pub waiting: u64,
    /// When the submit of the first waiting task came.
    pub submitted: Tick,
    /// Measured mean run time of the submit of the first waiting task, once tasks of it have ended.
    pub mean_run: Option<Span>,
    /// The present.
    pub now: Tick,
}

/// Smaller goes first; queues of equal rank form a level, in which the value of a placement decides.
pub type Rank = (i64, i64);

/// What may be placed on a worker past a queue of better rank that could use the worker, but has no room there now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassRule {
    /// Nothing.
    Strict,
    /// What fits into the gap that the blocked tasks could never use, and anything on workers that are not needed to
    /// hold a place for them.
    Gap,
    /// Anything.
    Free,
}

/// Ranks the queues of waiting tasks.
///
/// It must be deterministic and should be cheap: it is asked once per queue and round, unless it
/// [keeps its ranks](Self::keeps_ranks).
pub trait Order: fmt::Debug + Send {
    /// The name it is chosen by.
    fn name(&self) -> &str;

    /// The rank of a queue.
    fn rank(&self, queue: &QueueView) -> Rank;

    /// Whether a rank depends on `priority`, `head`, `head_run`, `waiting` and `submitted` alone, so that it lasts until tasks
    /// come or go. Rounds are faster then: only such queues are ranked anew.
    fn keeps_ranks(&self) -> bool {
        false
    }

    /// How many tasks may be taken from the head before ranks must be looked at again; at least 1.
    fn stride(&self, queue: &QueueView) -> u64 {
        queue.waiting
    }

    /// What may overtake what is blocked.
    fn pass_rule(&self) -> PassRule;
}

/// Strict priorities; within one priority the value of a placement decides; gaps are filled.
#[derive(Clone, Copy, Debug, Default)]
pub struct Priority;

impl Order for Priority {
    fn name(&self) -> &'static str {
        "priority"
    }

    fn rank(&self, queue: &QueueView) -> Rank {
        (-i64::from(queue.priority), 0)
    }

    fn keeps_ranks(&self) -> bool {
        true
    }

    fn pass_rule(&self) -> PassRule {
        PassRule::Gap
    }
}

/// First come, first served: submit order alone, nothing overtakes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fcfs;

impl Order for Fcfs {
    fn name(&self) -> &'static str {
        "fcfs"
    }

    fn rank(&self, queue: &QueueView) -> Rank {
        (queue.head.0.cast_signed(), 0)
    }

    fn keeps_ranks(&self) -> bool {
        true
    }

    fn stride(&self, queue: &QueueView) -> u64 {
        queue.head_run
    }

    fn pass_rule(&self) -> PassRule {
        PassRule::Strict
    }
}

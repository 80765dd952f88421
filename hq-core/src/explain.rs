//! Why a task waits, as plain data: what it waits for, and what of each worker it could use.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Amount, IdList, JobId, Quantity, ResourceName, Span, TaskNumber, WorkerId};

/// Why a task that has not ended is where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// In one word.
    pub standing: Standing,
    /// Tasks and whole jobs that it had or has to wait for, each counted once.
    pub dependencies: u64,
    /// Those of the tasks that have not ended, by number.
    pub unmet: IdList,
    /// Those of the jobs that are not completed.
    pub jobs: IdList,
    /// What it waits for where it did not end well and is to be run again.
    pub delay: Option<Delay>,
    /// Its place among what waits; none where it is not in a queue.
    pub queue: Option<QueuePlace>,
    /// Who has places that this task could use: see [`Obstacle::Held`].
    pub blockers: Vec<Blocker>,
    /// All workers that are there, by id.
    pub workers: Vec<WorkerFit>,
}

/// A task that did not end well and is to be run again, but not yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delay {
    /// Time until it may start.
    pub left: Span,
    /// How often its rules have let it run again, this time included.
    pub retries: u32,
    /// How its last run ended.
    pub error: String,
}

/// Where a task stands that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standing {
    /// It runs.
    Running,
    /// It waits for other tasks or jobs: see [`Explanation::unmet`] and [`Explanation::jobs`].
    Dependencies,
    /// A worker has it already, and starts it when the tasks before it have ended.
    Backlog {
        /// The worker; of a gang the main one.
        worker: WorkerId,
        /// Tasks that come first there, the running one included.
        ahead: u64,
        /// Whether the worker was asked to give some of them back, so that others can have them.
        is_called_back: bool,
    },
    /// It is being taken back, and ends when the worker that has it has answered.
    Withdrawn,
    /// No worker that is there could ever run it.
    Infeasible,
    /// Workers could run it, but none now.
    NoRoom,
    /// It would fit, but what comes before it needs the place: see [`Explanation::blockers`].
    HeldBack,
    /// Nothing is in its way: it starts in the next round.
    Due,
    /// The worker that has it, and may have begun with it, has lost its link, and may come back.
    Suspended {
        /// The worker; of a gang the main one.
        worker: WorkerId,
    },
    /// It did not end well and is to be run again, but not yet: see [`Explanation::delay`].
    Delayed,
}

/// Where a task is among those that wait for a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuePlace {
    /// The order that decides.
    pub order: String,
    /// The task's own priority.
    pub priority: i32,
    /// How the order ranks the queue it is in; smaller goes first.
    pub rank: (i64, i64),
    /// Tasks before it in its own queue.
    pub ahead: u64,
    /// Tasks in queues of better rank.
    pub better: u64,
}

/// Tasks of better rank that have no room now and whose places others do not get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocker {
    /// Job of the first of them.
    pub job: JobId,
    /// Its number.
    pub task: TaskNumber,
    /// Its priority.
    pub priority: i32,
    /// How the order ranks them; smaller goes first.
    pub rank: (i64, i64),
    /// How many wait.
    pub waiting: u64,
    /// Size of the gang that each of them needs; 0 for tasks of one worker.
    pub nodes: u32,
}

/// A worker and a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerFit {
    /// The worker.
    pub worker: WorkerId,
    /// What stands between them whatever the variant.
    pub obstacle: Option<Obstacle>,
    /// The task's variants in order.
    pub variants: Vec<VariantFit>,
}

/// A worker and a variant of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantFit {
    /// All that it needs.
    pub requirements: Vec<Requirement>,
}

/// One thing that a task needs of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requirement {
    /// What.
    pub need: Need,
    /// Why it is not there, if it is not.
    pub obstacle: Option<Obstacle>,
}

/// What a task needs and what a worker has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Need {
    /// Time before the worker ends by itself.
    Time {
        /// The least.
        wanted: Span,
        /// What is left; none: it does not end by itself.
        left: Option<Span>,
    },
    /// A resource.
    Resource {
        /// Its name.
        resource: ResourceName,
        /// How much.
        wanted: Quantity,
        /// All that the worker has.
        total: Amount,
        /// What of it is free.
        free: Amount,
    },
    /// Whole workers of one group.
    Nodes {
        /// How many.
        wanted: u32,
        /// Workers of this worker's group.
        group: u32,
        /// Those that live long enough and run such tasks.
        able: u32,
        /// Those of them that have nothing to do.
        idle: u32,
    },
    /// That enough of the worker's cpus would be used; only where the worker asks for that.
    Utilization {
        /// The least.
        wanted: Amount,
        /// What would be used with this task alone on top of what runs.
        reached: Amount,
    },
}

/// What stands between a task and a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Obstacle {
    /// The worker has never so much.
    TooLittle,
    /// The worker runs no such kind of body.
    Kind,
    /// The worker ends too soon.
    LifeTooShort,
    /// Too few workers of the group could ever be part of the gang.
    GroupTooSmall,
    /// Others use it.
    InUse,
    /// Enough is free in all, but a fraction has to come from one index and none has so much.
    NoSingleIndex,
    /// What is free lies in more groups, or in worse coupled ones, than a strict policy takes.
    Scattered,
    /// Too few workers of the group have nothing to do.
    FewIdle,
    /// The worker is part of a gang.
    InGang,
    /// The worker has as many tasks at a time as it can have.
    Full,
    /// Too few of the worker's cpus would be used.
    Utilization,
    /// The place is kept for what comes first.
    Held {
        /// Index in [`Explanation::blockers`].
        by: u32,
    },
}

impl Explanation {
    /// Whether any worker that is there could ever run the task.
    pub fn is_feasible(&self) -> bool {
        self.workers.iter().any(WorkerFit::could_ever)
    }
}

impl WorkerFit {
    /// Whether the worker could run the task once others have left it.
    pub fn could_ever(&self) -> bool {
        !self.obstacle.is_some_and(Obstacle::is_lasting) && self.variants.iter().any(VariantFit::could_ever)
    }

    /// Whether nothing at all stands between them.
    pub fn fits_now(&self) -> bool {
        self.obstacle.is_none() && self.variants.iter().any(VariantFit::fits_now)
    }
}

impl VariantFit {
    /// Whether nothing lasting is in the way.
    pub fn could_ever(&self) -> bool {
        !self.obstacles().any(Obstacle::is_lasting)
    }

    /// Whether nothing is in the way.
    pub fn fits_now(&self) -> bool {
        self.obstacles().next().is_none()
    }

    /// What is in the way.
    pub fn obstacles(&self) -> impl Iterator<Item = Obstacle> + '_ {
        self.requirements.iter().filter_map(|requirement| requirement.obstacle)
    }
}

impl Obstacle {
    /// Whether it stays as long as no other workers come.
    pub const fn is_lasting(self) -> bool {
        matches!(self, Self::TooLittle | Self::Kind | Self::LifeTooShort | Self::GroupTooSmall)
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLittle => "the worker has never so much",
            Self::Kind => "the worker runs no such kind of task",
            Self::LifeTooShort => "the worker ends too soon",
            Self::GroupTooSmall => "too few workers in the group",
            Self::InUse => "not free now",
            Self::NoSingleIndex => "no single index has the fraction",
            Self::Scattered => "what is free is too scattered for the strict policy",
            Self::FewIdle => "too few idle workers in the group",
            Self::InGang => "the worker runs a multi-node task",
            Self::Full => "the worker has as many tasks as it can have",
            Self::Utilization => "too few of the worker's cpus would be used",
            Self::Held { .. } => "held for tasks that come first",
        })
    }
}

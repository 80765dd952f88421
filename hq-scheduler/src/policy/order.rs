use std::fmt;

use hq_core::{Ordinal, Span, Tick};

/// What an order sees of a queue: waiting tasks that are alike for it. All of one class, priority, estimate and owner.
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
    /// How long each of them runs, at most, as its user says: its time limit, else its time request.
    pub estimate: Option<Span>,
    /// Measured mean run time of the submit of the first waiting task, once tasks of it have ended.
    pub mean_run: Option<Span>,
    /// Part of the cluster that one task takes, of the resource of which it takes most; in parts of [`WHOLE`](Self::WHOLE).
    pub share: u64,
    /// What the tasks of its user have had of the cluster, as if they had had all of it for so long. Half of it is forgotten
    /// in a week, and what they hold now counts as if they kept it for another minute. Nobody is one user, and all are
    /// at zero as long as nobody else is known.
    pub used_by_user: Span,
    /// The same for its project.
    pub used_by_project: Span,
    /// The present.
    pub now: Tick,
}

impl QueueView {
    /// The whole cluster, as a [`share`](Self::share).
    pub const WHOLE: u64 = 1 << 40;

    /// How long a task runs, as far as somebody said or it was measured.
    pub fn expected_run(&self) -> Option<Span> {
        self.estimate.or(self.mean_run)
    }

    /// How long the first task has waited.
    pub const fn waited(&self) -> Span {
        self.now.since(self.submitted)
    }

    /// The share of a task for as long as `run`, as if it had all of the cluster for so long.
    pub fn area_of(&self, run: Span) -> Span {
        let area = u128::from(run.0) * u128::from(self.share);
        // To the nearest: tasks of equal area stay equal although shares are rounded.
        let rounded = (area + u128::from(Self::WHOLE / 2)) / u128::from(Self::WHOLE);
        Span(u64::try_from(rounded).unwrap_or(u64::MAX))
    }
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
    /// What does not delay the first that is blocked, as far as estimates tell (EASY backfilling). It gets a reservation
    /// where it can start first, at its *shadow time*: when enough of what runs there is expected to have ended. There,
    /// another one starts if it is expected to end by then or takes no more than is left beside it then; elsewhere anything.
    ///
    /// What nobody has an estimate of is never expected to end.
    Shadow,
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

    /// Whether a rank depends on what a queue has always (priority, estimate) and on `head`, `head_run`, `waiting` and
    /// `submitted` alone, so that it lasts until tasks come or go. Rounds are faster then: only such queues are ranked anew.
    fn keeps_ranks(&self) -> bool {
        false
    }

    /// Whether one queue may come to be before another by the passing of time alone: all are looked at again whenever
    /// something happens then, not only those for which something has changed.
    fn ages(&self) -> bool {
        false
    }

    /// When the rank of a queue, or what may pass it, changes next by the passing of time alone, if that can be told: all queues
    /// are looked at again then, whether anything has happened or not. Not asked of orders that keep their ranks.
    fn changes_at(&self, queue: &QueueView) -> Option<Tick> {
        let _ = queue;
        None
    }

    /// How many tasks may be taken from the head before ranks must be looked at again; at least 1.
    fn stride(&self, queue: &QueueView) -> u64 {
        queue.waiting
    }

    /// What may overtake what is blocked.
    fn pass_rule(&self) -> PassRule;

    /// The same for one blocked queue, where it is not the same for all.
    fn pass_rule_of(&self, blocked: &QueueView) -> PassRule {
        let _ = blocked;
        self.pass_rule()
    }

    /// How many of the first blocked queues get a reservation under [`PassRule::Shadow`].
    fn reservations(&self) -> usize {
        1
    }
}

/// A number as part of a rank; too large ones are equal.
pub(super) fn part(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

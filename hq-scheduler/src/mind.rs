//! What the core keeps beside its lasting state: caches, measurements, and what is under way. A restart begins without it.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
};

use hq_core::{ClassId, GrantId, JobId, Ordinal, OrdinalRange, RangeSet, Span, TaskState, Tick, WorkerId};

use crate::{
    CancelToken, Effort,
    deep::Deep,
    idle::Idle,
    lanes_of_submit::LanesOfSubmit,
    policy::{Rank, Typical},
    popular::Popular,
    rooms::{Makes, Rooms},
    round::{KnownPlaces, Ranks, Waits},
    state::QueueKey,
    usage::{Charge, Usage},
};

#[derive(Debug, Default)]
pub(crate) struct Mind {
    /// Only of lanes of which there is something to say.
    pub(crate) lanes: BTreeMap<GrantId, LaneMind>,
    /// Lanes whose backlog may want more, or that may be over.
    pub(crate) hungry: BTreeSet<GrantId>,
    /// Lanes in which a task ran that is to be run again: they get no more.
    pub(crate) spent: BTreeSet<GrantId>,
    pub(crate) deep: Deep,
    pub(crate) lanes_of_submit: LanesOfSubmit,
    pub(crate) lanes_of_class: BTreeMap<ClassId, u64>,
    /// How many of them each worker has.
    pub(crate) runs: BTreeMap<ClassId, BTreeMap<WorkerId, u32>>,
    /// Queues for which all backlogs have been called back that are in their way, and their worst ranks since: more of the
    /// same tasks behind those that wait change nothing.
    pub(crate) settled: BTreeMap<QueueKey, Rank>,
    /// Measured mean run time of the tasks of a submit: tasks of one class may be of very different length.
    pub(crate) mean_run: BTreeMap<Ordinal, Span>,
    /// What the placement says of workers on which a class fits.
    pub(crate) known_places: KnownPlaces,
    /// Which classes most tasks belong to.
    pub(crate) popular: Popular,
    /// The most popular of them, as of lately.
    pub(crate) typical: Typical,
    /// How many classes waited or ran when those were looked for of which neither is so.
    pub(crate) busy_classes: usize,
    pub(crate) makes: Makes,
    pub(crate) rooms: Rooms,
    /// Workers whose free state changed since they were put into rooms.
    pub(crate) moved_workers: BTreeSet<WorkerId>,
    /// Heads of queues that find no room while others of their rank are started.
    pub(crate) waits: Waits,
    /// Workers that are to be used well or not at all.
    pub(crate) choosy: BTreeSet<WorkerId>,
    /// All that the present workers have, in parts.
    pub(crate) totals: BTreeMap<String, u64>,
    /// Which workers have the body of a submit.
    pub(crate) bodies: BTreeMap<Ordinal, BTreeSet<WorkerId>>,
    /// The same by worker.
    pub(crate) bodies_of: BTreeMap<WorkerId, BTreeSet<Ordinal>>,
    pub(crate) ranks: Ranks,
    /// Queues that got or lost tasks since they were ranked.
    pub(crate) moved: BTreeSet<QueueKey>,
    /// Queues that got tasks since the last round.
    pub(crate) dirty_queues: BTreeSet<QueueKey>,
    /// Workers that got room since the last round.
    pub(crate) dirty_workers: BTreeSet<WorkerId>,
    /// Workers with room for what is being called back, and maybe for more of it.
    pub(crate) unserved: BTreeSet<WorkerId>,
    /// Queues for whose sake others wait, and the workers that are held for them.
    pub(crate) held: BTreeMap<QueueKey, Held>,
    /// When workers end by themselves.
    pub(crate) deadlines: BTreeSet<(Tick, WorkerId)>,
    /// When time takes such a place away from its queue.
    pub(crate) held_until: Option<Tick>,
    /// When the passing of time alone changes what is reserved, or the order of queues.
    pub(crate) moves_at: Option<Tick>,
    /// In order of their beginnings, and so of their deadlines.
    pub(crate) withdrawals: BTreeMap<u64, Withdrawal>,
    pub(crate) last_withdrawal: u64,
    /// Withdrawals by the lanes they wait for.
    pub(crate) awaited: BTreeMap<GrantId, BTreeSet<u64>>,
    /// Withdrawals in one of whose lanes something has happened.
    pub(crate) stirred: BTreeSet<u64>,
    pub(crate) last_token: u64,
    pub(crate) idle: Idle,
    /// Until when a lane may start tasks, where that is limited.
    pub(crate) limits: BTreeSet<(Tick, GrantId)>,
    pub(crate) needs_round: bool,
    pub(crate) effort: Effort,
    /// What was looked at by questions that change nothing: counts as combined.
    pub(crate) looks: Cell<u64>,
    /// What users and projects have had.
    pub(crate) usage: Usage,
}

/// Workers with a place for a queue.
#[derive(Debug)]
pub(crate) struct Held {
    /// None: all that could ever run its class.
    pub(crate) workers: Option<BTreeSet<WorkerId>>,
    /// Those of them that are held for its head, which is overdue: against its equals as well.
    pub(crate) overdue: BTreeSet<WorkerId>,
    /// The queue's rank when they were chosen.
    pub(crate) rank: Option<Rank>,
    /// Where it has a reservation, for when.
    pub(crate) at: Option<Tick>,
}

#[derive(Debug, Default)]
pub(crate) struct LaneMind {
    pub(crate) recalls: BTreeMap<u32, Vec<OrdinalRange>>,
    pub(crate) last_recall: u32,
    /// No task may start later.
    pub(crate) not_after: Option<Tick>,
    /// Who pays for it; only where owners are known.
    pub(crate) charge: Option<Charge>,
}

/// Which tasks of a job are taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All that have not ended: what runs is killed.
    All,
    /// Those that have not started: what runs goes on.
    Waiting,
}

/// Tasks that a user or a failure takes back, until the last backlog has answered.
#[derive(Debug)]
pub(crate) struct Withdrawal {
    pub(crate) job: JobId,
    /// What they become.
    pub(crate) end: TaskState,
    pub(crate) reach: Reach,
    pub(crate) token: Option<CancelToken>,
    /// Those that have not ended yet.
    pub(crate) open: RangeSet,
    /// Recalls that have not been answered.
    pub(crate) pending: BTreeSet<(GrantId, u32)>,
    /// Then they count as ended without an answer.
    pub(crate) deadline: Tick,
    /// How many were ended by this.
    pub(crate) ended: u64,
}

impl Mind {
    /// Something has happened in a lane.
    pub(crate) fn stir(&mut self, grant: GrantId) {
        self.stirred.extend(self.awaited.get(&grant).into_iter().flatten());
    }

    /// Follows the mean of the newest runs: a quarter of the way to the mean of each batch.
    pub(crate) fn measure(&mut self, submit: Ordinal, total: Span, runs: u64) {
        let Some(batch) = total.0.checked_div(runs) else { return };
        let mean = self.mean_run.entry(submit).or_insert(Span(batch));
        mean.0 = (mean.0 * 3 + batch) / 4;
    }
}

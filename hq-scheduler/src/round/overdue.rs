//! Queues of equal rank: value decides, so that a task that needs much could wait for ever for small ones to leave it room. One
//! that has found none while many others of its level were started is *overdue*: a worker is held for it as if its rank were better.
//!
//! A worker that is held runs empty meanwhile, so holds are rationed: of a level one task at a time becomes overdue, the one that has
//! waited longest, and as many others are started before the next does. So a task starts within that many starts for it and for each
//! queue whose head waited before it: nothing starves, however many wait, and the level is not reduced to first come, first served.

use std::collections::{BTreeMap, BTreeSet};

use hq_core::{ClassId, Ordinal, Tick, WorkerId};

use super::{blocked::Blockers, reach::Reach};
use crate::{
    Scheduler,
    policy::{PassRule, QueueView, Rank},
    state::QueueKey,
};

/// A task is overdue when so many of its level were started meanwhile, for each lane there is …
const STARTS_PER_LANE: u64 = 64;
/// … or for so many lanes, where there are fewer.
const LANES_MIN: u64 = 8;

/// Heads of queues that find no room, by rank.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    levels: BTreeMap<Rank, Level>,
    /// Queues whose head is overdue, and which task that is.
    overdue: BTreeMap<QueueKey, Ordinal>,
}

#[derive(Debug, Default)]
struct Level {
    /// Tasks of this rank that were started since somebody waits.
    started: u64,
    /// At how many starts the head of a queue is overdue, if its turn has come.
    due: BTreeMap<QueueKey, (Ordinal, u64)>,
    /// No more than the least of these.
    next: u64,
    /// Before so many starts no other head becomes overdue.
    rest: u64,
}

impl Scheduler {
    /// Notes that the head of a queue finds no room.
    fn note_waiting(&mut self, view: &QueueView, key: QueueKey, rank: Rank) {
        let order = self.policies.order();
        if order.pass_rule_of(view) != PassRule::Gap || !order.keeps_ranks() {
            return;
        }
        let head = view.head;
        let patience = self.patience();
        let level = self.mind.waits.levels.entry(rank).or_default();
        if level.due.get(&key).is_none_or(|(known, _)| *known != head) {
            let at = level.started.saturating_add(patience);
            // At worst it is looked for too early, once.
            level.next = if level.due.is_empty() { at } else { level.next.min(at) };
            level.due.insert(key, (head, at));
        }
    }

    /// So many starts of its level a task lets pass before it is overdue.
    fn patience(&self) -> u64 {
        (self.state.grants.len() as u64).max(LANES_MIN) * STARTS_PER_LANE
    }

    /// Notes that tasks of a rank were started. The queue that is overdue now is looked at anew.
    pub(super) fn note_started(&mut self, rank: Rank, n: u64) {
        let patience = self.patience();
        let Some(level) = self.mind.waits.levels.get_mut(&rank) else { return };
        level.started = level.started.saturating_add(n);
        while level.started >= level.next.max(level.rest) {
            let first = level.due.iter().map(|(key, (head, at))| (*at, *head, *key)).min();
            let Some((_, head, key)) = first.filter(|(at, ..)| *at <= level.started) else { break };
            level.due.remove(&key);
            level.find_next();
            // Others of the queue may have been cancelled meanwhile.
            if self.state.ready.get(&key).is_some_and(|tasks| tasks.first() == Some(head)) {
                level.rest = level.started.saturating_add(patience);
                self.mind.waits.overdue.insert(key, head);
                self.mind.settled.remove(&key);
                self.mind.dirty_queues.insert(key);
                self.mind.needs_round = true;
            }
        }
        if level.due.is_empty() {
            self.mind.waits.levels.remove(&rank);
        }
    }

    /// Places the heads of queues that are overdue before others of their level. Gives those that wait still, and hold workers.
    pub(super) fn place_overdue(
        &mut self,
        now: Tick,
        level: &[QueueKey],
        rank: Rank,
        reach: &mut Reach<'_>,
        blockers: &mut Blockers,
    ) -> BTreeSet<QueueKey> {
        let due: Vec<QueueKey> =
            level.iter().filter(|key| self.mind.waits.overdue.contains_key(key)).copied().collect();
        let mut waiting = BTreeSet::new();
        for key in due {
            let first = before(rank);
            let single = self.state.classes.get(key.class).is_gang() || !self.policies.placement().fills_workers();
            let placed: u64 = if single {
                self.place_queue(now, key, first, 1, reach, blockers)
            } else {
                self.fill_workers(now, &[key], first, &[1], reach, blockers).iter().sum()
            };
            self.refresh_rooms(Some(reach));
            if placed > 0 {
                self.mind.waits.overdue.remove(&key);
            } else {
                self.block_waiting(now, blockers, key, rank);
                waiting.insert(key);
            }
        }
        waiting
    }

    /// Notes that what is left of a queue has no room.
    pub(super) fn block_waiting(&mut self, now: Tick, blockers: &mut Blockers, key: QueueKey, rank: Rank) {
        if !self.block_overdue(now, blockers, key, rank)
            && let Some(view) = self.queue_view(now, key)
        {
            self.block(blockers, key, rank, &view);
            self.note_waiting(&view, key, rank);
        }
    }

    /// If the head of a queue is overdue, a worker is held for it before all of its rank, for a gang as many as it needs; for the
    /// rest of the queue as for any other.
    pub(super) fn block_overdue(&self, now: Tick, blockers: &mut Blockers, key: QueueKey, rank: Rank) -> bool {
        if !self.is_overdue(key) {
            return false;
        }
        let gang = self.state.classes.get(key.class).is_gang();
        blockers.add(before(rank), key, if gang { u64::MAX } else { 1 }, PassRule::Gap);
        blockers.in_the_way.insert(key);
        let needed = self.queue_view(now, key).map(|view| self.needed(key, &view));
        if let Some((needed @ 2.., rule @ (PassRule::Gap | PassRule::Strict))) = needed
            && !gang
        {
            blockers.add(rank, key, needed - 1, rule);
        }
        true
    }

    /// Whether the head of a queue is overdue.
    pub(super) fn is_overdue(&self, key: QueueKey) -> bool {
        self.mind.waits.overdue.contains_key(&key)
    }

    /// The rank by which a queue keeps others off, or goes past them: a better one where it is overdue.
    pub(super) fn rank_to_others(&self, key: QueueKey, rank: Rank) -> Rank {
        if self.is_overdue(key) { before(rank) } else { rank }
    }

    /// Whether a worker is held for an overdue task, so that a lane of another class of no better rank has to end there.
    pub(super) fn is_held_for_overdue(&self, worker: WorkerId, rank: Rank, class: ClassId) -> bool {
        self.mind.waits.overdue.keys().any(|key| {
            key.class != class
                && self.mind.ranks.of(*key).is_some_and(|other| other <= rank)
                && self.mind.held.get(key).is_some_and(|held| held.overdue.contains(&worker))
        })
    }

    /// Queues whose head is overdue.
    pub(super) fn overdue(&self) -> impl Iterator<Item = &QueueKey> {
        self.mind.waits.overdue.keys()
    }

    /// Forgets overdue tasks that do not wait any more: the next of their queue are not overdue, and what was held has room.
    pub(super) fn forget_overdue(&mut self) {
        let waits = |key: &QueueKey, task: Ordinal| self.state.ready.get(key).is_some_and(|tasks| tasks.contains(task));
        let gone: Vec<QueueKey> =
            self.mind.waits.overdue.iter().filter(|(key, task)| !waits(key, **task)).map(|(key, _)| *key).collect();
        for key in gone {
            self.mind.waits.overdue.remove(&key);
            let held = self.mind.held.get(&key).map(|held| self.workers_held(key, held).collect::<Vec<WorkerId>>());
            self.mind.dirty_workers.extend(held.into_iter().flatten());
        }
    }
}

/// Before all of this rank, behind all of better ones.
fn before(rank: Rank) -> Rank {
    (rank.0, rank.1.saturating_sub(1))
}

impl Waits {
    /// A queue is not of this rank any more.
    pub(super) fn leave(&mut self, key: QueueKey, rank: Rank) {
        if let Some(level) = self.levels.get_mut(&rank)
            && level.due.remove(&key).is_some()
            && level.due.is_empty()
        {
            self.levels.remove(&rank);
        }
    }

    /// No queue has a rank any more.
    pub(super) fn leave_all(&mut self) {
        self.levels.clear();
    }
}

impl Level {
    fn find_next(&mut self) {
        self.next = self.due.values().map(|(_, at)| *at).min().unwrap_or(u64::MAX);
    }
}

#[cfg(test)]
mod tests {
    use hq_core::{JobId, JobSpec, JobTarget, Profile, Request, Span, Submit, TaskIds, WorkerConfig, WorkerResources};

    use super::*;

    const NOW: Tick = Tick(1);

    fn round(core: &mut Scheduler) {
        while core.poll_action(NOW).is_some() {}
    }

    fn submit(core: &mut Scheduler, limit: u64) -> JobId {
        let profile = Profile { time_limit: Some(Span::secs(limit)), ..Profile::new(Request::cpus(2).unwrap()) };
        let target = JobTarget::New(JobSpec::default());
        let job = core.submit(NOW, Submit::array(target, TaskIds::Next(1), "program", vec![].into(), profile)).unwrap();
        round(core);
        job
    }

    #[test]
    fn what_does_not_wait_any_more_leaves_nothing() {
        let mut core = Scheduler::new();
        core.boot(Tick(0), "uid".into(), 0, "1".into());
        core.join(NOW, WorkerConfig::new("w", WorkerResources::cpus(2).unwrap())).unwrap();
        submit(&mut core, 1);
        let jobs: Vec<JobId> = (2..=50).map(|limit| submit(&mut core, limit)).collect();
        let due = |core: &Scheduler| core.mind.waits.levels.values().map(|level| level.due.len()).sum::<usize>();
        assert_eq!(due(&core), jobs.len());
        for (canceled, job) in (1..).zip(&jobs) {
            core.cancel(NOW, *job, None);
            round(&mut core);
            assert_eq!(due(&core), jobs.len() - canceled);
        }
        assert!(core.mind.waits.levels.is_empty());
    }
}

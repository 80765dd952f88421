//! The lasting state of the core. It changes by [`State::apply`] alone, live as in a replay, so that both are the same.

mod apply;
mod away;
mod class;
mod crashes;
mod doom;
mod ends;
mod gates;
mod grants;
mod graph;
mod open;
mod owner;
mod parts;
mod queue;
mod record;
mod restore;
mod retry;
mod summary;

use std::collections::{BTreeMap, BTreeSet};

use hq_core::{
    ClassId, DepKind, Epoch, GrantId, JobId, LossReason, Ordinal, OrdinalRange, RangeSet, TaskNumber, TaskState,
    WorkerId,
};

pub(crate) use away::AwayWorker;
pub(crate) use class::Class;
pub(crate) use owner::{OwnerId, PartyId};
pub(crate) use parts::{Grant, Job, LostWorker, QueueKey, SubmitState, Worker};
pub(crate) use record::Entry;

use self::{class::Classes, grants::Grants, owner::Owners, record::Records};

/// All that outlives a step and is told by facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) epoch: Epoch,
    pub(crate) server_uid: String,
    /// Boxed, like the submits: a tree has room for eleven in its smallest node.
    pub(crate) jobs: BTreeMap<JobId, Box<Job>>,
    pub(crate) last_job: u32,
    pub(crate) submits: BTreeMap<Ordinal, Box<SubmitState>>,
    pub(crate) next_ordinal: u64,
    pub(crate) classes: Classes,
    pub(crate) owners: Owners,
    pub(crate) workers: BTreeMap<WorkerId, Worker>,
    pub(crate) lost: BTreeMap<WorkerId, LostWorker>,
    /// Workers that may come back.
    pub(crate) away: BTreeMap<WorkerId, AwayWorker>,
    /// Lanes and gangs of main workers that are away.
    pub(crate) suspended: BTreeMap<GrantId, Grant>,
    pub(crate) last_worker: u32,
    pub(crate) grants: Grants,
    pub(crate) last_grant: u32,
    /// Tasks that could start if there were room. Never an empty set.
    pub(crate) ready: BTreeMap<QueueKey, RangeSet>,
    pub(crate) records: Records,
    /// Submits that wait for a job as a whole, and for which end of it. Never an empty list.
    pub(crate) gates: BTreeMap<JobId, Vec<(Ordinal, DepKind)>>,
    /// Names of the order and the placement, where one was chosen.
    pub(crate) policy: Option<(String, String)>,
    /// Between the beginning and the end of a snapshot.
    pub(crate) in_snapshot: bool,
}

/// A task that ran on a worker that is gone, or may have begun there without a word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bereft {
    pub(crate) task: Ordinal,
    /// Why the worker went.
    pub(crate) reason: LossReason,
    /// Whether it is known to have begun.
    pub(crate) is_known: bool,
}

/// What a fact set off besides the state itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effects {
    /// Queues that got tasks.
    pub(crate) ready: BTreeSet<QueueKey>,
    /// Queues that got or lost tasks.
    pub(crate) moved: BTreeSet<QueueKey>,
    /// Workers that got room.
    pub(crate) freed: BTreeSet<WorkerId>,
    /// Tasks that can never run any more.
    pub(crate) doomed: Vec<Ordinal>,
    /// Submits whose tasks can never run any more.
    pub(crate) barred: Vec<Ordinal>,
    /// Tasks that a worker took with it.
    pub(crate) bereft: Vec<Bereft>,
    /// Jobs with a new failure.
    pub(crate) failed: BTreeSet<JobId>,
    /// Jobs of which no task waits or runs any more.
    pub(crate) ended: BTreeSet<JobId>,
    /// Classes that are forgotten, and what they were.
    pub(crate) gone: BTreeMap<ClassId, Class>,
}

impl State {
    /// Names for up to `n` grants, one after the other: the first one, and how many.
    pub(crate) fn next_grants(&self, n: u32) -> (GrantId, u32) {
        let first = self.next_grant();
        (first, if self.is_after_all(first) { n.min((u32::MAX - first.n).saturating_add(1)) } else { n.min(1) })
    }

    /// The name of the next grant. After four billion of them in one life numbers come round again, and those in use are left
    /// out, those of workers that may come back among them: what is stale by then is as many grants old.
    pub(crate) fn next_grant(&self) -> GrantId {
        let mut grant = GrantId { epoch: self.epoch, n: self.last_grant };
        loop {
            grant.n = grant.n.checked_add(1).unwrap_or(1);
            if self.is_after_all(grant) || !(self.grants.contains_key(&grant) || self.suspended.contains_key(&grant)) {
                return grant;
            }
        }
    }

    /// Whether neither this name nor a later one is in use.
    fn is_after_all(&self, grant: GrantId) -> bool {
        let last = self.grants.last().max(self.suspended.keys().next_back().copied());
        last.is_none_or(|last| last < grant)
    }

    /// The submit that `task` belongs to, by its base.
    pub(crate) fn submit_of(&self, task: Ordinal) -> Option<(Ordinal, &SubmitState)> {
        let (base, submit) = self.submits.range(..=task).next_back()?;
        (task.0 - base.0 < submit.len()).then_some((*base, submit))
    }

    /// All ordinals of the submit that `task` belongs to, or else of the next one.
    pub(crate) fn submit_at_or_after(&self, task: Ordinal) -> Option<OrdinalRange> {
        let own = self.submit_of(task).map(|(base, submit)| OrdinalRange::new(base, submit.len()));
        own.or_else(|| self.submits.range(task..).next().map(|(base, _)| self.range_of(*base)))
    }

    /// `range` cut at the borders of submits; what belongs to none is left out.
    pub(crate) fn split_by_submit(&self, range: OrdinalRange) -> Vec<(Ordinal, OrdinalRange)> {
        let first = self.submit_of(range.start).map(|(base, _)| base);
        let rest =
            self.submits.range(range.start..range.end()).map(|(base, _)| *base).filter(|base| Some(*base) != first);
        first
            .into_iter()
            .chain(rest)
            .filter_map(|base| {
                let end = base.plus(self.submits.get(&base)?.len()).min(range.end());
                let start = base.max(range.start);
                (start < end).then(|| (base, OrdinalRange::new(start, end.0 - start.0)))
            })
            .collect()
    }

    pub(crate) fn task_state(&self, task: Ordinal) -> Option<TaskState> {
        let (_, submit) = self.submit_of(task)?;
        Some(self.state_in(submit, task))
    }

    fn state_in(&self, submit: &SubmitState, task: Ordinal) -> TaskState {
        match self.records.get(task) {
            Some(entry) => entry.state,
            None if submit.canceled.contains(task) => TaskState::Canceled,
            None if submit.aborted.contains(task) => TaskState::Aborted,
            None => TaskState::Waiting,
        }
    }

    pub(crate) fn key_of(&self, task: Ordinal) -> Option<QueueKey> {
        let (base, submit) = self.submit_of(task)?;
        Some(submit.key(task.0 - base.0))
    }

    pub(crate) fn find(&self, job: JobId, number: TaskNumber) -> Option<Ordinal> {
        let job = self.jobs.get(&job)?;
        // The submit is nearly always the first one tried: numbers of different submits seldom interleave.
        let mut bases = job.by_number.range(..=number.0).rev().map(|(_, base)| base);
        bases.find_map(|base| Some(base.plus(self.submits.get(base)?.index_of(number)?)))
    }

    /// Members of `range` (of one submit) that have not ended.
    pub(crate) fn unfinished(&self, base: Ordinal, range: OrdinalRange) -> RangeSet {
        let mut set = self.without_ended(base, range);
        let ended = self.records.in_range(range).filter(|(_, entry)| entry.state.is_end());
        for run in runs(ended.map(|(task, _)| task)) {
            set.remove(run);
        }
        set
    }

    /// Members of `range` (of one submit) but for those that ended without ever having been recorded.
    fn without_ended(&self, base: Ordinal, range: OrdinalRange) -> RangeSet {
        let mut set = RangeSet::from_iter([range]);
        if let Some(submit) = self.submits.get(&base) {
            for ended in submit.canceled.intersect(range).into_iter().chain(submit.aborted.intersect(range)) {
                set.remove(ended);
            }
        }
        set
    }

    /// All ordinals of a submit.
    pub(crate) fn range_of(&self, base: Ordinal) -> OrdinalRange {
        OrdinalRange::new(base, self.submits.get(&base).map_or(0, |submit| submit.len()))
    }
}

/// Tasks in order as runs.
fn runs(tasks: impl Iterator<Item = Ordinal>) -> Vec<OrdinalRange> {
    let mut runs: Vec<OrdinalRange> = Vec::new();
    tasks.for_each(|task| push_run(&mut runs, task));
    runs
}

/// Adds a task behind those in order.
fn push_run(runs: &mut Vec<OrdinalRange>, task: Ordinal) {
    match runs.last_mut() {
        Some(run) if run.end() == task => run.len += 1,
        _ => runs.push(OrdinalRange::one(task)),
    }
}

//! A round of placement: lanes that ran dry, then queues from the best rank down on whatever has room, then recalls, then
//! backlogs.
//!
//! It works on what is dirty: workers whose free state grew, queues that got tasks.

mod assign;
mod auction;
mod blocked;
mod combine;
mod fill;
mod gang;
mod gap;
mod gives;
mod hold;
mod hypothetical;
mod joint;
mod keep_off;
mod lanes;
mod least;
mod level;
mod looks;
mod lots;
mod moves;
mod open;
mod overdue;
mod pack;
mod place;
mod places;
mod prices;
mod ranks;
mod reach;
mod recall;
mod reserve;
mod search;
mod shift;
mod slots;
mod timeline;
mod together;

use std::collections::BTreeSet;

use hq_core::{Ordinal, OrdinalRange, Tick, WorkerId};

pub(crate) use self::{
    blocked::{Asker, Blockers},
    hypothetical::{Level, fill_hypothetical, workers_used},
    lanes::has_time,
    overdue::Waits,
    places::KnownPlaces,
    ranks::Ranks,
    slots::LANES_MAX,
};

use crate::{
    Scheduler,
    policy::{QueueView, Rank},
    state::{QueueKey, SubmitState},
};

/// An order whose ranks do not last for as long as a round must not keep it from ending: the next one goes on.
const PASSES_MAX: u32 = 100;

impl Scheduler {
    pub(crate) fn round(&mut self, now: Tick) {
        self.forget_idle_classes();
        self.settle_lanes(now);
        self.release_holds(now);
        if self.policies.order().ages() {
            self.mind.dirty_queues.extend(self.state.ready.keys().copied());
        }
        let mut touched: BTreeSet<WorkerId> = BTreeSet::new();
        // Again while places that are not held any more may be room for others.
        for _ in 0..PASSES_MAX {
            if self.mind.dirty_workers.is_empty() && self.mind.dirty_queues.is_empty() {
                break;
            }
            let workers = std::mem::take(&mut self.mind.dirty_workers);
            let mut queues = std::mem::take(&mut self.mind.dirty_queues);
            self.rank_all(now);
            let fresh = !queues.is_empty();
            queues.retain(|key| !self.is_settled(now, *key));
            let mut blockers = self.place(now, &workers, &queues);
            self.fill_unused(now, &workers, fresh, &mut blockers);
            self.call_back(now, &workers, &queues, &blockers);
            self.hold(now, &mut blockers);
            touched.extend(workers);
        }
        self.note_idle(now, touched);
        self.top_up_lanes(now);
        self.release_holds(now);
        self.mind.needs_round |= !self.mind.dirty_workers.is_empty();
        self.mind.moves_at = self.next_move(now);
    }

    /// What the order sees of a queue.
    pub(crate) fn queue_view(&self, now: Tick, key: QueueKey) -> Option<QueueView> {
        let set = self.state.ready.get(&key)?;
        let run = set.first_range()?;
        Some(self.view_of(now, key, run.start, run.len, set.len()))
    }

    /// The same of tasks from `head` on.
    pub(crate) fn view_of(&self, now: Tick, key: QueueKey, head: Ordinal, head_run: u64, waiting: u64) -> QueueView {
        let submit = self.state.submit_of(head);
        QueueView {
            priority: key.priority(),
            head,
            head_run,
            waiting,
            submitted: submit.map_or(now, |(_, submit)| submit.at),
            estimate: key.estimate,
            mean_run: submit.and_then(|(base, _)| self.mind.mean_run.get(&base).copied()),
            share: self.share(key.class),
            used_by_user: self.mind.usage.of_user(key.owner.user, now),
            used_by_project: self.mind.usage.of_project(key.owner.project, now),
            now,
        }
    }

    /// Rank of a queue that waits.
    pub(crate) fn rank(&self, now: Tick, key: QueueKey) -> Option<Rank> {
        Some(self.policies.order().rank(&self.queue_view(now, key)?))
    }

    /// Ranks of tasks that may be in lanes: nearly always the next one is of the same queue as the one before.
    pub(crate) fn ranks_of_tasks(&self, now: Tick) -> impl FnMut(Ordinal) -> Option<Rank> + '_ {
        let mut last: Option<(OrdinalRange, &SubmitState, QueueKey, QueueView)> = None;
        let order = self.policies.order();
        move |task| {
            if let Some((whole, submit, key, view)) = &mut last
                && whole.contains(task)
                && submit.key(task.0 - whole.start.0) == *key
            {
                view.head = task;
                return Some(order.rank(view));
            }
            let (base, submit) = self.state.submit_of(task)?;
            let key = submit.key(task.0 - base.0);
            let view = self.view_of(now, key, task, 1, 1);
            let rank = order.rank(&view);
            last = Some((OrdinalRange::new(base, submit.len()), submit, key, view));
            Some(rank)
        }
    }

    /// Rank of a task that may be in a lane.
    pub(crate) fn rank_of_task(&self, now: Tick, task: Ordinal) -> Option<(Rank, QueueKey)> {
        let key = self.state.key_of(task)?;
        Some((self.policies.order().rank(&self.view_of(now, key, task, 1, 1)), key))
    }
}

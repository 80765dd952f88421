//! Lanes that want more work: topped up while their class is the best for their resources, closed else.

use std::sync::Arc;

use hq_core::{ClassId, Fact, GrantId, Ordinal, OrdinalRange, Request, Span, Tick, ToWorker};

use crate::{
    Action, Scheduler,
    policy::{PassRule, Rank},
    pool::Pools,
    state::{Effects, QueueKey},
};

/// A lane has work for about that long beyond what runs.
const LEAD: Span = Span::millis(20);
/// The same for tasks of a graph: they differ in length, and what waits behind a long one holds others up.
const LEAD_IN_GRAPH: Span = Span::millis(2);
/// Shorter tasks of an array have at least one that waits; for longer ones a round trip more or less is nothing.
const LONG: Span = Span::millis(100);
const DEPTH_MAX: u64 = 16_384;

impl Scheduler {
    /// Lanes without a task go on at once or give their resources back; the others wait until placement is done.
    pub(super) fn settle_lanes(&mut self, now: Tick) {
        let mut ranked = false;
        let dry = |grant: &GrantId| self.state.grants.get(grant).is_some_and(|lane| lane.tasks.is_empty());
        let due: Vec<GrantId> = self.mind.hungry.iter().filter(|grant| dry(grant)).copied().collect();
        for grant in due {
            self.mind.hungry.remove(&grant);
            self.settle_lane(now, grant, &mut ranked);
        }
    }

    /// Backlogs get what nobody could start now.
    pub(super) fn top_up_lanes(&mut self, now: Tick) {
        let mut ranked = false;
        for grant in std::mem::take(&mut self.mind.hungry) {
            self.settle_lane(now, grant, &mut ranked);
        }
    }

    /// Queues are ranked when it is needed first, and from then on those that change.
    fn settle_lane(&mut self, now: Tick, grant: GrantId, ranked: &mut bool) {
        let Some(lane) = self.state.grants.get(&grant) else { return };
        let started = u64::from(lane.running.is_some());
        let backlog = lane.tasks.len().saturating_sub(started);
        let empty = lane.tasks.is_empty();
        // A lane with an open recall must not grow: what was called back has to go where it was called for.
        let recalled = self.mind.lanes.get(&grant).is_some_and(|mind| !mind.recalls.is_empty());
        let depth = lane.next().map_or(0, |task| self.depth(task));
        if !empty && (recalled || backlog * 2 > depth || depth == 0) {
            return;
        }
        if !std::mem::replace(ranked, true) {
            self.rank_all(now);
        }
        self.rank_moved(now);
        let key = if recalled { None } else { self.may_go_on(now, grant) };
        match key {
            Some(key) => self.extend(now, grant, key, backlog, empty),
            None if empty => self.close_lane(now, grant),
            None => {}
        }
    }

    /// How many tasks a lane may have beyond the running one, if this is the next: ends per second × round trip, with room to
    /// spare. Nothing while it is not known how long the tasks of its submit take.
    fn depth(&self, next: Ordinal) -> u64 {
        let Some((base, submit)) = self.state.submit_of(next) else { return 0 };
        let class = self.state.classes.get(submit.key(next.0 - base.0).class);
        let (lead, least) = if submit.graph.is_some() { (LEAD_IN_GRAPH, 0) } else { (LEAD, 1) };
        match self.mind.mean_run.get(&base) {
            Some(mean) if *mean < LONG && !class.no_backlog && !class.is_gang() => {
                (lead.0 / mean.0.max(1)).clamp(least, DEPTH_MAX)
            }
            _ => 0,
        }
    }

    /// How many tasks from the head of a queue may wait in a lane: none of another submit, which may be longer.
    pub(super) fn backlog_room(&self, key: QueueKey) -> u64 {
        let Some(head) = self.state.ready.get(&key).and_then(|set| set.first()) else { return 0 };
        let same = self.state.submit_of(head).map_or(0, |(base, submit)| base.0 + submit.len() - head.0);
        self.depth(head).min(same)
    }

    /// The queue from which a lane may take more, if its class is still the best for its resources.
    fn may_go_on(&self, now: Tick, grant: GrantId) -> Option<QueueKey> {
        // Of a boot before: it may have had the next task already, in facts that were lost with that server.
        if grant.epoch != self.state.epoch || self.mind.spent.contains(&grant) {
            return None;
        }
        let lane = self.state.grants.get(&grant)?;
        let (class, variant, worker_id) = (lane.class, lane.variant, lane.worker);
        let known = self.state.classes.get(class);
        let request = known.requests.get(usize::from(variant))?;
        let worker = self.state.workers.get(&worker_id)?;
        if known.is_gang() || !has_time(worker.deadline(), now, request.min_time()) || self.too_late(grant, now) {
            return None;
        }
        if !self.uses_enough_with(worker, grant) {
            return None;
        }
        let own = self.best_of_class(class)?;
        if self.is_held_for_overdue(worker_id, own.0, class) {
            return None;
        }
        // What the lane gives back if it ends, and what that is worth to it.
        let mut freed: Option<(Pools, u64)> = None;
        let others = self.mind.ranks.heads().take_while(|(rank, _)| *rank <= own.0);
        for (rank, other) in others.filter(|(_, other)| other.class != class) {
            if !self.mind.makes.can(worker_id, other.class) {
                continue;
            }
            let rival = self.state.classes.get(other.class);
            let better = rank < own.0 || rival.is_gang();
            if better && self.is_in_the_way(now, other) {
                return None;
            }
            let (pools, own_value) = freed.get_or_insert_with(|| {
                let mut pools = worker.pools.clone();
                pools.release(&lane.allocation);
                let value = self.value(request, &pools);
                (pools, value)
            });
            let takes_over =
                |request: &Arc<Request>| (better || self.value(request, pools) > *own_value) && pools.fits(request);
            if rival.requests.iter().any(takes_over) {
                return None;
            }
        }
        Some(own.1)
    }

    /// The best queue of a class; of those of equal rank the one that came first.
    fn best_of_class(&self, class: ClassId) -> Option<(Rank, QueueKey)> {
        self.mind.ranks.first_of_best(class)
    }

    /// Whether not anything may overtake a queue while it has no room.
    fn is_in_the_way(&self, now: Tick, key: QueueKey) -> bool {
        let view = self.queue_view(now, key);
        view.is_some_and(|view| self.policies.order().pass_rule_of(&view) != PassRule::Free)
    }

    /// Whether the lane starts nothing any more, for want of time.
    pub(crate) fn too_late(&self, grant: GrantId, now: Tick) -> bool {
        self.mind.lanes.get(&grant).and_then(|mind| mind.not_after).is_some_and(|limit| limit <= now)
    }

    fn extend(&mut self, now: Tick, grant: GrantId, key: QueueKey, backlog: u64, empty: bool) {
        let Some(view) = self.queue_view(now, key) else { return };
        let room = self.backlog_room(key).saturating_sub(backlog).max(u64::from(empty));
        let stride = self.policies.order().stride(&view).max(1);
        let n = room.min(stride).min(self.fair_share(key).max(1));
        let tasks = self.peek(key, n);
        if tasks.is_empty() {
            return;
        }
        let Some(worker) = self.state.grants.get(&grant).map(|lane| lane.worker) else { return };
        self.emit(now, Fact::GrantExtended { grant, tasks: tasks.clone() }, &mut Effects::default());
        if let Some(rank) = self.mind.ranks.of(key) {
            self.note_started(rank, tasks.iter().map(|range| range.len).sum());
        }
        let work = self.work_for(worker, &tasks);
        self.actions.push_back(Action::Send { worker, message: ToWorker::Extend { grant, work } });
    }

    /// So much of a queue goes into one lane at once that the others get theirs, and the last ones end together.
    pub(super) fn fair_share(&self, key: QueueKey) -> u64 {
        let lanes = self.mind.lanes_of_class.get(&key.class).copied().unwrap_or(0).max(1);
        self.state.ready.get(&key).map_or(0, |set| set.len()) / (2 * lanes)
    }

    /// The first `n` tasks of a queue, which stay in it.
    pub(super) fn peek(&self, key: QueueKey, n: u64) -> Vec<OrdinalRange> {
        let mut left = n;
        let mut tasks = Vec::new();
        for range in self.state.ready.get(&key).into_iter().flat_map(|set| set.iter()) {
            if left == 0 {
                break;
            }
            let part = OrdinalRange::new(range.start, range.len.min(left));
            left -= part.len;
            tasks.push(part);
        }
        tasks
    }

    pub(super) fn close_lane(&mut self, now: Tick, grant: GrantId) {
        let Some(worker) = self.state.grants.get(&grant).map(|lane| lane.worker) else { return };
        let mut fx = Effects::default();
        self.emit(now, Fact::GrantClosed { grant }, &mut fx);
        self.mind.dirty_workers.extend(fx.freed);
        self.actions.push_back(Action::Send { worker, message: ToWorker::Close { grant } });
    }
}

/// Whether a worker lives long enough to start a task with that time request.
pub(crate) fn has_time(deadline: Option<Tick>, now: Tick, min_time: Span) -> bool {
    deadline.is_none_or(|deadline| now < deadline && deadline.since(now) >= min_time)
}

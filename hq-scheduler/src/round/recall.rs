//! Backlogs that others should have: a queue of better rank that could use the lane's worker, or a worker that could start the
//! tasks now.

use std::collections::{BTreeMap, BTreeSet};

use hq_core::{ClassId, GrantId, OrdinalRange, Tick, WorkerId};

use super::{
    blocked::{Asker, Blockers},
    lanes::has_time,
};
use crate::{
    Scheduler,
    lane_runs::LaneSet,
    policy::Rank,
    state::{Grant, QueueKey},
};

/// So few lanes are asked one by one rather than those of all workers that are held.
const FEW: usize = 64;

impl Scheduler {
    pub(super) fn call_back(
        &mut self,
        now: Tick,
        workers: &BTreeSet<WorkerId>,
        queues: &BTreeSet<QueueKey>,
        blockers: &Blockers,
    ) {
        let fresh = blockers.among(queues);
        let blocked = blockers.only(&fresh);
        self.call_back_for_better(now, fresh, blocked);
        self.call_back_for_idle(now, workers);
    }

    /// Calls back what is in the way of queues that got tasks and are blocked.
    fn call_back_for_better(&mut self, now: Tick, queues: Vec<QueueKey>, mut fresh: Blockers) {
        let Some(best) = fresh.best_rank() else { return };
        let mut due: Vec<GrantId> = Vec::new();
        let mut held: BTreeMap<(Rank, WorkerId), bool> = BTreeMap::new();
        let lanes = self.deep_lanes_for(now, &queues, best, &mut fresh);
        self.mind.effort.lanes += lanes.len() as u64;
        for grant in lanes {
            let Some(lane) = self.state.grants.get(&grant) else { continue };
            let Some(next) = lane.next() else { continue };
            let Some((rank, key)) = self.rank_of_task(now, next) else { continue };
            if best >= rank {
                continue;
            }
            let mut is_held = |worker: &WorkerId| {
                let asker = Asker { now, rank, queue: key, worker: *worker };
                if fresh.reservations.is_empty() {
                    *held.entry((rank, *worker)).or_insert_with(|| self.is_held(asker, &mut fresh))
                } else {
                    self.is_held(asker, &mut fresh)
                }
            };
            if lane.workers().any(|worker| is_held(&worker)) {
                due.push(grant);
            }
        }
        for grant in due {
            self.call_back_spare(grant);
        }
        for key in queues {
            if let Some(rank) = self.mind.ranks.of(key)
                && self.mind.makes.count(key.class) > 0
                && self.wants_all(now, key)
            {
                self.mind.settled.insert(key, rank);
            }
        }
    }

    /// Lanes whose backlogs begin behind `best`, on workers that are held for some of the queues; others among them where they are
    /// few.
    fn deep_lanes_for(&mut self, now: Tick, queues: &[QueueKey], best: Rank, blockers: &mut Blockers) -> Vec<GrantId> {
        let lanes = self.deep_behind(now, best);
        if lanes.len() <= FEW {
            return lanes;
        }
        let mut workers = BTreeSet::new();
        for key in blockers.greediest(queues) {
            match self.holders(now, blockers, key) {
                Some(Some(holders)) => workers.extend(holders),
                Some(None) => return lanes,
                None => {}
            }
        }
        let workers = workers.iter().filter_map(|worker| self.state.workers.get(worker));
        let there: BTreeSet<GrantId> =
            workers.flat_map(|worker| worker.grants.iter().chain(&worker.gang)).copied().collect();
        lanes.into_iter().filter(|grant| there.contains(grant)).collect()
    }

    /// Lanes whose backlogs begin behind `best`; where ranks do not last, all.
    fn deep_behind(&mut self, now: Tick, best: Rank) -> Vec<GrantId> {
        if !self.policies.order().keeps_ranks() {
            let mut lanes: Vec<GrantId> = self.mind.deep.all().collect();
            lanes.sort_unstable();
            return lanes;
        }
        let unranked = self.mind.deep.take_unranked();
        let ranks = self.ranks_of_lanes(now, &unranked);
        self.mind.deep.rank(&ranks);
        self.mind.deep.worse_than(best)
    }

    /// Ranks of the next tasks.
    fn ranks_of_lanes(&self, now: Tick, lanes: &LaneSet) -> Vec<(GrantId, Rank)> {
        let mut rank_of = self.ranks_of_tasks(now);
        let lanes = lanes.runs().flat_map(|(first, n)| self.state.grants.in_run(first, n));
        lanes.filter_map(|(grant, lane)| Some((grant, rank_of(lane.next()?)?))).collect()
    }

    /// Whether tasks that came to a queue have no consequence: as many others wait there already as could matter.
    pub(super) fn is_settled(&self, now: Tick, key: QueueKey) -> bool {
        let settled = self.mind.settled.get(&key);
        settled.is_some_and(|settled| self.mind.ranks.of(key) >= Some(*settled)) && self.wants_all(now, key)
    }

    /// Each worker with room gets a fair part of the backlogs of a class of which nothing else waits.
    fn call_back_for_idle(&mut self, now: Tick, workers: &BTreeSet<WorkerId>) {
        if workers.is_empty() {
            return;
        }
        let alone = |class: &ClassId| !self.mind.ranks.waits(*class) && !self.state.classes.get(*class).is_gang();
        let classes: Vec<ClassId> = self.mind.deep.classes().filter(alone).collect();
        for class in classes {
            let rooms = workers.iter().map(|worker| (*worker, self.room(now, *worker, class)));
            let rooms: Vec<(WorkerId, u64)> = rooms.filter(|(_, room)| *room > 0).collect();
            if rooms.is_empty() {
                continue;
            }
            let grants: Vec<GrantId> = self.mind.deep.of_class(class).collect();
            self.mind.effort.lanes += grants.len() as u64;
            self.call_back_share(class, &grants, rooms.iter().map(|(_, room)| *room).sum());
            // Whether that was enough is seen when they have answered.
            if grants.iter().any(|grant| self.mind.lanes.get(grant).is_some_and(|mind| !mind.recalls.is_empty())) {
                self.mind.unserved.extend(rooms.into_iter().map(|(worker, _)| worker));
            }
        }
    }

    /// How many more tasks of a class a worker could start now.
    fn room(&self, now: Tick, worker: WorkerId, class: ClassId) -> u64 {
        let known = self.state.classes.get(class);
        let Some(worker) = self.state.workers.get(&worker) else { return 0 };
        if !worker.takes_tasks() || !worker.config.runs(&known.kind) {
            return 0;
        }
        let lives = |request: &hq_core::Request| has_time(worker.deadline(), now, request.min_time());
        let counts =
            known.requests.iter().filter(|request| lives(request)).map(|request| worker.pools.fits_count(request, 64));
        u64::from(counts.max().unwrap_or(0))
    }

    /// Calls back all that waits in a lane. The first task not known to run is starting right now and is left where it is: what a
    /// round has just placed by one rule (an overdue task goes before its rank) is not taken back by another.
    fn call_back_spare(&mut self, grant: GrantId) {
        let Some(lane) = self.state.grants.get(&grant) else { return };
        let backlog = lane.backlog();
        let tasks = last_of(&backlog, spare(lane, &backlog));
        self.recall_once(grant, tasks);
    }

    fn call_back_share(&mut self, class: ClassId, grants: &[GrantId], room: u64) {
        let lanes = self.mind.lanes_of_class.get(&class).copied().unwrap_or(0).max(1);
        let mut wanted = room;
        for (grant, left) in grants.iter().zip((1..=grants.len() as u64).rev()) {
            let Some(lane) = self.state.grants.get(grant) else { continue };
            let asked = self.mind.lanes.get(grant).is_some_and(|mind| !mind.recalls.is_empty());
            let backlog = lane.backlog();
            let len: u64 = backlog.iter().map(|range| range.len).sum();
            // A fair part of deep backlogs; of shallow ones all that can start now, since it waits for nothing there.
            let share = (len * room / (lanes + room)).max(wanted.div_ceil(left)).min(spare(lane, &backlog));
            if asked || share == 0 {
                continue;
            }
            let tasks = last_of(&backlog, share);
            self.recall(*grant, tasks);
            wanted = wanted.saturating_sub(share);
        }
    }
}

/// How many tasks of a lane wait: without the first one, if none is known to run, which may be starting right now.
fn spare(lane: &Grant, backlog: &[OrdinalRange]) -> u64 {
    let len: u64 = backlog.iter().map(|range| range.len).sum();
    if lane.running.is_some() { len } else { len.saturating_sub(1) }
}

/// The last `n` tasks of a backlog.
fn last_of(backlog: &[OrdinalRange], n: u64) -> Vec<OrdinalRange> {
    let mut left = n;
    let mut tasks = Vec::new();
    for range in backlog.iter().rev() {
        if left == 0 {
            break;
        }
        let len = range.len.min(left);
        tasks.push(OrdinalRange::new(range.start.plus(range.len - len), len));
        left -= len;
    }
    tasks.reverse();
    tasks
}

//! Gangs: n whole workers of one group at once, or none.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use hq_core::{ClassId, Fact, Open, OrdinalRange, Span, Tick, ToWorker, WorkerId};

use super::{
    blocked::{Asker, Blockers},
    lanes::has_time,
};
use crate::{
    Action, Scheduler,
    policy::Rank,
    state::{Effects, QueueKey, Worker},
};

impl Scheduler {
    pub(super) fn place_gangs(
        &mut self,
        now: Tick,
        key: QueueKey,
        rank: Rank,
        budget: u64,
        candidates: Option<&BTreeSet<WorkerId>>,
        blockers: &mut Blockers,
    ) -> u64 {
        let is_idle = |worker: &WorkerId| self.state.workers.get(worker).is_some_and(Worker::is_idle);
        if candidates.is_some_and(|workers| !workers.iter().any(is_idle)) {
            return 0; // Those that were idle before were too few then.
        }
        let mut placed = 0;
        while placed < budget {
            let Some(members) = self.find_gang(now, key, rank, blockers) else { break };
            let Some(task) = self.peek(key, 1).first().map(|range| range.start) else { break };
            self.open_gang(now, key, members, task);
            placed += 1;
        }
        placed
    }

    /// Idle workers of one group, enough of them and living long enough; the first such group by name, low ids first.
    fn find_gang(&self, now: Tick, key: QueueKey, rank: Rank, blockers: &mut Blockers) -> Option<Vec<WorkerId>> {
        let nodes = self.state.classes.get(key.class).nodes() as usize;
        let idle = self.groups(now, key.class, |_, worker| worker.is_idle());
        if idle.values().all(|members| members.len() < nodes) {
            return None;
        }
        let mut free = |worker: &WorkerId| !self.is_held(Asker { now, rank, queue: key, worker: *worker }, blockers);
        idle.into_values().find_map(|members| {
            let members: Vec<WorkerId> = members.into_iter().filter(&mut free).take(nodes).collect();
            (members.len() == nodes).then_some(members)
        })
    }

    /// Workers that could be part of a gang of the class and pass the test, by group.
    pub(super) fn groups(
        &self,
        now: Tick,
        class: ClassId,
        test: impl Fn(&WorkerId, &Worker) -> bool,
    ) -> BTreeMap<&str, Vec<WorkerId>> {
        let known = self.state.classes.get(class);
        let min_time = known.requests.first().map_or(Span::ZERO, |request| request.min_time());
        let mut groups: BTreeMap<&str, Vec<WorkerId>> = BTreeMap::new();
        for (id, worker) in &self.state.workers {
            if worker.config.runs(&known.kind) && has_time(worker.deadline(), now, min_time) && test(id, worker) {
                groups.entry(&worker.config.group).or_default().push(*id);
            }
        }
        groups
    }

    /// Workers that a gang waits for: of the group that has most of them idle, idle ones first. None where no group is large
    /// enough, so that a gang that cannot be formed holds up nobody.
    pub(super) fn hold_for_gang(&self, now: Tick, class: ClassId) -> BTreeSet<WorkerId> {
        let nodes = self.state.classes.get(class).nodes() as usize;
        let load = |id: &WorkerId| {
            self.state
                .workers
                .get(id)
                .map_or(usize::MAX, |worker| worker.grants.len() + usize::from(worker.gang.is_some()))
        };
        let groups = self.groups(now, class, |_, _| true);
        let best = groups.into_values().filter(|members| members.len() >= nodes).map(|mut members| {
            members.sort_by_key(|id| (load(id), *id));
            members.truncate(nodes);
            members
        });
        best.min_by_key(|members| members.iter().map(load).sum::<usize>()).into_iter().flatten().collect()
    }

    fn open_gang(&mut self, now: Tick, key: QueueKey, members: Vec<WorkerId>, task: hq_core::Ordinal) {
        let grant = self.state.next_grant();
        let tasks = vec![OrdinalRange::one(task)];
        let hosts = members.iter().filter_map(|id| Some(self.state.workers.get(id)?.config.hostname.clone())).collect();
        let Some(main) = members.first().copied() else { return };
        let deadline = members.iter().filter_map(|id| self.state.workers.get(id)?.deadline()).min();
        members.iter().for_each(|worker| self.mind.idle.end(*worker));
        let fact = Fact::GrantOpened {
            grant,
            workers: members,
            class: None,
            variant: 0,
            allocation: Arc::default(),
            tasks: tasks.clone(),
        };
        self.emit(now, fact, &mut Effects::default());
        let Some(request) = self.state.classes.get(key.class).requests.first().cloned() else { return };
        let not_after = self.limit_lane(grant, deadline, &request).map(|limit| limit.since(now));
        let work = self.work_for(main, &tasks);
        let open = Open { grant, request, variant: 0, variants: 1, allocation: Arc::default(), hosts, work, not_after };
        self.actions.push_back(Action::Send { worker: main, message: ToWorker::Open(Box::new(open)) });
    }
}

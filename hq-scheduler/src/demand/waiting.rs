use std::collections::{BTreeMap, BTreeSet};

use hq_core::{ClassId, GrantId, Ordinal, OrdinalRange, ResourceName, Tick};

use super::{GangDemand, WorkerType};
use crate::{Scheduler, policy::Rank, state::QueueKey};

/// Tasks that count, from the best rank down.
#[derive(Clone)]
pub(super) struct Waiting {
    pub(super) levels: Vec<Vec<Queue>>,
    gangs: Vec<Queue>,
}

/// Tasks of one class and rank.
#[derive(Clone, Copy)]
pub(super) struct Queue {
    pub(super) class: ClassId,
    /// The first of them.
    pub(super) head: Ordinal,
    pub(super) left: u64,
}

impl Waiting {
    /// What waits in queues and in backlogs.
    pub(super) fn new(core: &Scheduler, now: Tick) -> Self {
        let mut counts: BTreeMap<QueueKey, (Option<Rank>, Ordinal, u64)> = BTreeMap::new();
        for (key, set) in &core.state.ready {
            let Some(head) = set.first() else { continue };
            counts.insert(*key, (core.rank(now, *key), head, set.len()));
        }
        // What is being called back is for somebody who is there.
        let stays = |grant: &GrantId| core.mind.lanes.get(grant).is_none_or(|lane| lane.recalls.is_empty());
        let deep = core.mind.deep.all().filter(stays);
        for lane in deep.filter_map(|grant| core.state.grants.get(&grant)) {
            // The first one may be starting right now.
            let mut skip = u64::from(lane.running.is_none());
            for range in lane.backlog() {
                for (key, task, len) in by_queue(core, range) {
                    let counted = len.saturating_sub(skip);
                    skip = skip.saturating_sub(len);
                    let rank = || core.rank_of_task(now, task).map(|(rank, _)| rank);
                    counts.entry(key).or_insert_with(|| (rank(), task, 0)).2 += counted;
                }
            }
        }
        let mut levels: BTreeMap<Option<Rank>, BTreeMap<ClassId, Queue>> = BTreeMap::new();
        let mut gangs = Vec::new();
        for (key, (rank, head, left)) in counts.into_iter().filter(|(_, (.., left))| *left > 0) {
            let queue = Queue { class: key.class, head, left };
            if core.state.classes.get(key.class).is_gang() {
                gangs.push(queue);
            } else {
                let known = levels.entry(rank).or_default().entry(key.class).or_insert(Queue { left: 0, ..queue });
                known.head = known.head.min(queue.head);
                known.left = known.left.saturating_add(queue.left);
            }
        }
        Self { levels: levels.into_values().map(|level| level.into_values().collect()).collect(), gangs }
    }

    /// The gangs that each type could run; the first that could takes all of a size.
    pub(super) fn take_gangs(&mut self, core: &Scheduler, types: &[WorkerType]) -> Vec<GangDemand> {
        let mut found: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        for queue in std::mem::take(&mut self.gangs) {
            let class = core.state.classes.get(queue.class);
            let Some(request) = class.requests.first() else { continue };
            let able = |kind: &WorkerType| {
                let most = kind.gang_max.min(kind.workers_max);
                class.nodes() <= most && kind.runs(&class.kind) && kind.lives_for(request)
            };
            if let Some((worker_type, _)) = (0..).zip(types).find(|(_, kind)| able(kind)) {
                *found.entry((worker_type, class.nodes())).or_default() += queue.left;
            }
        }
        let demand = |((worker_type, nodes), gangs)| GangDemand { worker_type, nodes, gangs };
        found.into_iter().map(demand).collect()
    }
}

/// A range of tasks cut into those of one queue: the first of each and how many.
fn by_queue(core: &Scheduler, range: OrdinalRange) -> Vec<(QueueKey, Ordinal, u64)> {
    let mut found: Vec<(QueueKey, Ordinal, u64)> = Vec::new();
    for (base, part) in core.state.split_by_submit(range) {
        let Some(submit) = core.state.submits.get(&base) else { continue };
        let one_queue = submit.submit.profiles.len() == 1;
        let runs: Vec<OrdinalRange> = if one_queue { vec![part] } else { part.iter().map(OrdinalRange::one).collect() };
        for run in runs {
            let key = submit.key(run.start.0 - base.0);
            match found.last_mut() {
                Some((last, _, len)) if *last == key => *len += run.len,
                _ => found.push((key, run.start, run.len)),
            }
        }
    }
    found
}

/// Resources that workers were ever seen with; cpus are part of any.
pub(super) fn seen(core: &Scheduler) -> BTreeSet<&str> {
    let present = core.state.workers.values().map(|worker| &worker.config);
    let gone = core.state.lost.values().map(|worker| &worker.config);
    let defs = present.chain(gone).flat_map(|config| config.resources.resources());
    defs.map(|def| def.name.as_str()).chain([ResourceName::CPUS]).collect()
}

use std::collections::{BTreeMap, BTreeSet};

use hq_core::{ClassId, GrantId, Ordinal, OrdinalRange, RangeSet, ResourceName, Tick};

use super::{GangDemand, WorkerType};
use crate::{Scheduler, policy::Rank, state::QueueKey};

/// Tasks that count, from the best rank down.
#[derive(Clone)]
pub(super) struct Waiting {
    pub(super) levels: Vec<Vec<Queue>>,
    gangs: Vec<Queue>,
    /// Whether there are gangs, taken or not.
    pub(super) has_gangs: bool,
}

/// Tasks of one class and rank.
#[derive(Clone, Copy)]
pub(super) struct Queue {
    pub(super) class: ClassId,
    /// The first of them.
    pub(super) head: Ordinal,
    pub(super) left: u64,
}

/// Tasks of one queue that are ranked as one.
type Piece = (Option<Rank>, Queue);

impl Waiting {
    /// What waits in queues and in backlogs.
    pub(super) fn new(core: &Scheduler, now: Tick) -> Self {
        let mut pieces: Vec<Piece> = Vec::new();
        for (key, set) in &core.state.ready {
            pieces.extend(pieces_of(core, now, *key, set));
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
                    let rank = core.rank_of_task(now, task).map(|(rank, _)| rank);
                    pieces.push((rank, Queue { class: key.class, head: task, left: counted }));
                }
            }
        }
        let mut levels: BTreeMap<Option<Rank>, BTreeMap<ClassId, Queue>> = BTreeMap::new();
        let mut gangs = Vec::new();
        for (rank, queue) in pieces.into_iter().filter(|(_, queue)| queue.left > 0) {
            if core.state.classes.get(queue.class).is_gang() {
                gangs.push(queue);
            } else {
                let class = queue.class;
                let known = levels.entry(rank).or_default().entry(class).or_insert(Queue { left: 0, ..queue });
                known.head = known.head.min(queue.head);
                known.left = known.left.saturating_add(queue.left);
            }
        }
        let levels = levels.into_values().map(|level| level.into_values().collect()).collect();
        Self { levels, has_gangs: !gangs.is_empty(), gangs }
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

/// So many pieces of a queue at most; the last one has all the rest.
const PIECES_MAX: usize = 64;

/// A queue cut where its order looks at ranks again: by submit order, what was submitted between its tasks goes before the later ones.
fn pieces_of(core: &Scheduler, now: Tick, key: QueueKey, set: &RangeSet) -> Vec<Piece> {
    let order = core.policies.order();
    let mut pieces: Vec<Piece> = Vec::new();
    let (mut left, mut taken) = (set.len(), 0u64);
    for mut run in set.iter() {
        while left > 0 && taken < run.len {
            run = OrdinalRange::new(Ordinal(run.start.0 + taken), run.len - taken);
            let view = core.view_of(now, key, run.start, run.len, left);
            let rank = order.rank(&view);
            let is_last = pieces.len() + 1 == PIECES_MAX || pieces.last().is_some_and(|(last, _)| *last == Some(rank));
            taken = if is_last { left } else { order.stride(&view).clamp(1, left) };
            left -= taken;
            pieces.push((Some(rank), Queue { class: key.class, head: run.start, left: taken }));
        }
        taken = taken.saturating_sub(run.len);
        if left == 0 {
            break;
        }
    }
    pieces
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

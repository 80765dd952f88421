use std::collections::BTreeMap;

use hq_core::{Need, Obstacle, Request, Requirement, Span, Tick, VariantFit, WorkerFit, WorkerId};

use super::{fit::need_of_time, held::Held};
use crate::{
    Scheduler,
    policy::Rank,
    round::has_time,
    state::{Class, QueueKey, Worker},
};

/// How many workers of a group there are, could be part of the gang, and could be so now.
#[derive(Default)]
struct Group {
    all: u32,
    able: u32,
    idle: u32,
}

impl Scheduler {
    /// What of each worker a gang of a queue could use. Whether others hold the place is only asked with a `rank`.
    pub(super) fn fit_gang(&self, now: Tick, key: QueueKey, rank: Option<Rank>, held: &mut Held<'_>) -> Vec<WorkerFit> {
        let known = self.state.classes.get(key.class);
        let min_time = known.requests.first().map_or(Span::ZERO, |request| request.min_time());
        let able = |worker: &Worker| worker.config.runs(&known.kind) && has_time(worker.deadline(), now, min_time);
        let mut groups: BTreeMap<&str, Group> = BTreeMap::new();
        // Idle workers whose place is held are not idle for this gang.
        let mut taken: BTreeMap<WorkerId, Obstacle> = BTreeMap::new();
        for (id, worker) in &self.state.workers {
            let group = groups.entry(&worker.config.group).or_default();
            group.all += 1;
            group.able += u32::from(able(worker));
            if !able(worker) || !worker.is_idle() {
                continue;
            }
            match rank.and_then(|rank| held.gang_place_of(rank, key, *id)) {
                Some(obstacle) => _ = taken.insert(*id, obstacle),
                None => group.idle += 1,
            }
        }
        let fit = |(id, worker): (&WorkerId, &Worker)| {
            let obstacle = if worker.config.runs(&known.kind) { taken.get(id).copied() } else { Some(Obstacle::Kind) };
            let group = groups.get(worker.config.group.as_str());
            let variants = known.requests.iter().map(|request| fit_variant(now, known, worker, request, group));
            WorkerFit { worker: *id, obstacle, variants: variants.collect() }
        };
        self.state.workers.iter().map(fit).collect()
    }
}

fn fit_variant(now: Tick, class: &Class, worker: &Worker, request: &Request, group: Option<&Group>) -> VariantFit {
    let wanted = class.nodes();
    let (all, able, idle) = group.map_or((0, 0, 0), |group| (group.all, group.able, group.idle));
    let obstacle = if able < wanted {
        Some(Obstacle::GroupTooSmall)
    } else if idle < wanted {
        Some(Obstacle::FewIdle)
    } else if worker.gang.is_some() {
        Some(Obstacle::InGang)
    } else {
        (!worker.is_idle()).then_some(Obstacle::InUse)
    };
    let nodes = Requirement { need: Need::Nodes { wanted, group: all, able, idle }, obstacle };
    VariantFit { requirements: need_of_time(now, worker, request.min_time()).into_iter().chain([nodes]).collect() }
}

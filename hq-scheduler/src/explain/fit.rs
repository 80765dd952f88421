use hq_core::{Need, Obstacle, Request, Requirement, Span, Tick, VariantFit, WorkerFit, WorkerId};

use super::held::Held;
use crate::{
    Scheduler,
    policy::Rank,
    round::{LANES_MAX, has_time},
    state::{QueueKey, Worker},
    utilization::{cpus_of, least_use},
};

impl Scheduler {
    /// What of each worker a task of a queue could use. Whether others hold the place is only asked with a `rank`.
    pub(super) fn fit_workers(
        &self,
        now: Tick,
        key: QueueKey,
        rank: Option<Rank>,
        held: &mut Held<'_>,
    ) -> Vec<WorkerFit> {
        let known = self.state.classes.get(key.class);
        let fit = |(id, worker): (&WorkerId, &Worker)| {
            let obstacle = if !worker.config.runs(&known.kind) {
                Some(Obstacle::Kind)
            } else if worker.gang.is_some() {
                Some(Obstacle::InGang)
            } else {
                (worker.grants.len() >= LANES_MAX).then_some(Obstacle::Full)
            };
            let variants = known.requests.iter().map(|request| fit_variant(now, worker, request)).collect();
            let mut fit = WorkerFit { worker: *id, obstacle, variants };
            if let Some(rank) = rank.filter(|_| fit.fits_now()) {
                fit.obstacle = held.place_of(rank, key, *id, &worker.pools);
            }
            fit
        };
        self.state.workers.iter().map(fit).collect()
    }
}

fn fit_variant(now: Tick, worker: &Worker, request: &Request) -> VariantFit {
    let mut requirements: Vec<Requirement> = need_of_time(now, worker, request.min_time()).into_iter().collect();
    let obstacles = worker.pools.obstacles(request);
    requirements.extend(request.entries().iter().zip(obstacles).map(|(entry, obstacle)| {
        let name = entry.resource.as_str();
        let need = Need::Resource {
            resource: entry.resource.clone(),
            wanted: entry.quantity,
            total: worker.pools.total(name),
            free: worker.pools.free(name),
        };
        Requirement { need, obstacle }
    }));
    requirements.extend(need_of_use(worker, request));
    VariantFit { requirements }
}

/// Nothing where the worker has all the time in the world, or the task asks for none and the worker still has some.
pub(super) fn need_of_time(now: Tick, worker: &Worker, wanted: Span) -> Option<Requirement> {
    let deadline = worker.deadline();
    let obstacle = (!has_time(deadline, now, wanted)).then_some(Obstacle::LifeTooShort);
    if wanted == Span::ZERO && obstacle.is_none() {
        return None;
    }
    Some(Requirement { need: Need::Time { wanted, left: deadline.map(|deadline| deadline.since(now)) }, obstacle })
}

/// Nothing where the worker takes whatever comes.
fn need_of_use(worker: &Worker, request: &Request) -> Option<Requirement> {
    let wanted = least_use(&worker.pools, worker.config.min_utilization);
    if wanted.is_zero() {
        return None;
    }
    let more = cpus_of(&worker.pools, request);
    let reached = worker.pools.uses_cpus().checked_add(more).unwrap_or(more);
    let obstacle = (reached < wanted).then_some(Obstacle::Utilization);
    Some(Requirement { need: Need::Utilization { wanted, reached }, obstacle })
}

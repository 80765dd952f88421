use std::sync::Arc;

use hq_core::{Fact, QueueId, QueueSpec, Span, Tick};

use super::{Autoscaler, Permit, Queue, ScaleAction, ScaleOrder, permit::ARRIVAL};
use crate::{Demand, WorkerType};

/// What waits for nobody is given back after that long, where the queue does not say.
const SURPLUS: Span = Span::secs(300);

impl Autoscaler {
    /// Whether a [`round`](Self::round) is wanted.
    pub fn is_due(&self, now: Tick) -> bool {
        !self.is_stopping && self.round_at.is_some_and(|at| at <= now)
    }

    /// Decides how many allocations to ask for, by what is wanted: `demand` is asked once at most, for the workers that each
    /// queue could bring, see [`Scheduler::demand`](crate::Scheduler::demand).
    pub fn round(&mut self, now: Tick, demand: impl FnOnce(&[WorkerType]) -> Demand) {
        self.last_round = Some(now);
        let asking: Vec<QueueId> =
            self.book.queues().filter(|(_, queue)| queue.is_asking()).map(|(queue, _)| queue).collect();
        self.round_at = (!asking.is_empty()).then(|| now.after(self.knobs.look));
        if asking.is_empty() || self.is_stopping {
            return;
        }
        let types: Vec<(QueueId, WorkerType)> =
            asking.iter().filter_map(|id| Some((*id, self.type_of(*id)?))).collect();
        let kinds: Vec<WorkerType> = types.iter().map(|(_, kind)| kind.clone()).collect();
        let demand = demand(&kinds);
        let is_idle = demand.workers.iter().all(|n| *n == 0) && demand.gangs.is_empty();
        for (at, (id, _)) in types.iter().enumerate() {
            let gangs = demand.gangs.iter().filter(|gang| gang.worker_type as usize == at);
            let gangs = gangs.map(|gang| (gang.gangs, gang.nodes)).collect();
            let single = demand.workers.get(at).copied().unwrap_or(0);
            self.plan(now, *id, single, gangs);
            self.give_back(now, *id, is_idle);
            self.go_on(now, *id);
        }
    }

    /// The workers that a queue could bring: like the last one that came, else as far as is known.
    fn type_of(&self, id: QueueId) -> Option<WorkerType> {
        let queue = self.book.queue(id)?;
        let spec = &queue.spec;
        let mut kind = match known(queue) {
            Some(worker) => WorkerType::like(worker),
            None => {
                let mut kind = WorkerType::partial(spec.offer.clone().unwrap_or_default()).ok()?;
                kind.min_utilization = spec.min_utilization;
                kind
            }
        };
        kind.time_limit = spec.worker_time_limit.or(spec.time_limit).or(kind.time_limit);
        kind.workers_max = spec.backlog.saturating_mul(spec.workers_per_allocation);
        kind.gang_max = spec.workers_per_allocation;
        Some(kind)
    }

    fn plan(&mut self, now: Tick, id: QueueId, single: u32, gangs: Vec<(u64, u32)>) {
        let (Some(queue), Some(mind)) = (self.book.queue(id), self.minds.get_mut(&id)) else { return };
        // Of workers that nobody knows anything of one is enough to learn from.
        let is_blind = known(queue).is_none() && queue.spec.offer.is_none();
        let mut permit = Permit { single: if is_blind { single.min(1) } else { single }, gangs, ..Permit::default() };
        permit.active = queue.active_workers();
        for (_, a) in queue.active() {
            match a.started {
                None => permit.queued.push(a.workers),
                Some(since) if now.since(since) < ARRIVAL => {
                    let came = (a.here.len() + a.gone.len()) as u32;
                    permit.coming = permit.coming.saturating_add(a.workers.saturating_sub(came));
                }
                Some(_) => {}
            }
        }
        mind.plan = permit.sizes(&queue.spec).into();
        if mind.health.is_trying {
            let is_busy = queue.active().next().is_some();
            mind.plan.truncate(usize::from(!is_busy));
        }
    }

    /// Allocations that have not begun and that nobody waits for any more.
    fn give_back(&mut self, now: Tick, id: QueueId, is_idle: bool) {
        let (Some(queue), Some(mind)) = (self.book.queue(id), self.minds.get_mut(&id)) else { return };
        if !is_idle {
            mind.idle_since = None;
            return;
        }
        let since = *mind.idle_since.get_or_insert(now);
        if now.since(since) < queue.spec.idle_timeout.unwrap_or(SURPLUS) {
            return;
        }
        let idle: Vec<u64> =
            queue.active().filter(|(_, a)| a.started.is_none() && a.id.is_some()).map(|(number, _)| number).collect();
        for number in idle {
            self.cancel(now, id, number);
        }
        self.look_after(now);
    }

    /// Asks for the next allocation of the plan, if it may.
    pub(super) fn go_on(&mut self, now: Tick, id: QueueId) {
        let (Some(queue), Some(mind)) = (self.book.queue(id), self.minds.get_mut(&id)) else { return };
        if self.is_stopping || !queue.is_asking() || mind.submitting.is_some() || mind.plan.is_empty() {
            return;
        }
        let opens_at = mind.health.opens_at(&self.knobs);
        if now < opens_at {
            mind.plan.clear();
            self.round_at = Some(self.round_at.map_or(opens_at, |at| at.min(opens_at)));
            return;
        }
        let Some(workers) = mind.plan.pop_front() else { return };
        if !has_room(queue, workers) {
            return mind.plan.clear();
        }
        let number = queue.count + 1;
        let key = format!("{}-{id}-{number}", self.prefix);
        mind.health.attempt(now);
        mind.submitting = Some(key.clone());
        let spec: Arc<QueueSpec> = Arc::clone(&queue.spec);
        self.emit(now, Fact::AllocationIntended { queue: id, key: key.clone(), workers });
        self.actions.push_back(ScaleAction::Order(ScaleOrder::Submit { queue: id, spec, key, number, workers }));
    }
}

/// What a worker of the queue is, where that is known.
fn known(queue: &Queue) -> Option<&hq_core::WorkerConfig> {
    queue.known.as_deref().or(queue.spec.worker.as_deref())
}

/// Something may have changed since the plan was made.
fn has_room(queue: &Queue, workers: u32) -> bool {
    let waiting = queue.active().filter(|(_, a)| a.started.is_none()).count();
    let all = queue.active_workers().saturating_add(workers);
    waiting < queue.spec.backlog as usize && queue.spec.max_workers.is_none_or(|max| all <= max)
}

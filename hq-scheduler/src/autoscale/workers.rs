use std::sync::Arc;

use hq_core::{Fact, QueueId, Tick, WorkerConfig, WorkerId};

use super::{Autoscaler, ScaleAction, machine::asked};
use crate::autoscale::ScaleOrder;

impl Autoscaler {
    /// Takes a fact that is not the autoscaler's own: tasks and workers that come and go.
    pub fn observe(&mut self, now: Tick, fact: &Fact) {
        match fact {
            Fact::WorkerJoined { worker, config } => {
                self.take_back(now, config);
                self.book.apply(now, fact);
                self.worker_came(now, *worker, config);
            }
            Fact::WorkerReturned { worker, .. } => {
                let config = self.book.away(*worker);
                if let Some(config) = &config {
                    self.take_back(now, config);
                }
                self.book.apply(now, fact);
                if let Some(config) = &config {
                    self.worker_came(now, *worker, config);
                }
            }
            Fact::WorkerLost { worker, .. } => {
                let place = self.book.of_worker(*worker).or_else(|| {
                    let config = self.book.away(*worker)?;
                    self.book.find(config.allocation.as_ref()?)
                });
                self.book.apply(now, fact);
                if let Some((queue, number)) = place {
                    self.worker_went(now, queue, number);
                }
            }
            Fact::Submitted { .. } => self.want_round(now),
            Fact::Boot { .. } => self.book.apply(now, fact),
            _ => {}
        }
    }

    /// A worker of an allocation that counts as ended: it is taken back where there is room for it, else ended again.
    fn take_back(&mut self, now: Tick, config: &WorkerConfig) {
        let Some((id, number)) = config.allocation.as_ref().and_then(|job| self.book.find(job)) else { return };
        let Some(queue) = self.book.queue(id) else { return };
        let Some(allocation) = queue.allocations.get(&number).filter(|a| !a.is_active()) else { return };
        let all = queue.active_workers().saturating_add(allocation.workers);
        let is_canceled =
            self.minds.get(&id).and_then(|mind| mind.cares.get(&number)).is_some_and(|c| c.cancel.is_some());
        if queue.is_closing || self.is_stopping || is_canceled || queue.spec.max_workers.is_some_and(|max| all > max) {
            let (spec, asked) = (Arc::clone(&queue.spec), asked(allocation));
            let cancel = asked.map(|allocation| ScaleOrder::Cancel { queue: id, spec, allocation });
            self.actions.extend(cancel.map(ScaleAction::Order));
            return;
        }
        let key = allocation.key.clone();
        if let Some(mind) = self.minds.get_mut(&id) {
            mind.cares.remove(&number);
        }
        self.begin(now, id, &key);
    }

    pub(super) fn worker_came(&mut self, now: Tick, worker: WorkerId, config: &Arc<WorkerConfig>) {
        self.want_round(now);
        let Some(job) = &config.allocation else { return };
        let Some((id, number)) = self.book.of_worker(worker) else {
            let queues: Vec<&super::Queue> = self.book.queues().map(|(_, queue)| queue).collect();
            let is_ours = |queue: &super::Queue| queue.spec.backend.eq_ignore_ascii_case(&job.manager);
            let may_be = |queue: &super::Queue| is_ours(queue) && queue.active().any(|(_, a)| a.id.is_none());
            if queues.iter().any(|queue| is_ours(queue)) && !queues.iter().any(|queue| may_be(queue)) {
                let text = format!(
                    "worker {worker} came from allocation {} of {}, which no queue of this server has asked for",
                    job.id, job.manager
                );
                self.actions.push_back(ScaleAction::Warn(text));
            }
            return;
        };
        let Some(queue) = self.book.queue(id) else { return };
        let key =
            queue.allocations.get(&number).filter(|a| a.is_active() && a.started.is_none()).map(|a| a.key.clone());
        let is_news = queue
            .known
            .as_ref()
            .is_none_or(|known| known.resources != config.resources || known.min_utilization != config.min_utilization);
        if let Some(key) = key {
            self.begin(now, id, &key);
        }
        if is_news {
            self.emit(now, Fact::QueueLearned { queue: id, worker: Arc::clone(config) });
        }
    }

    fn worker_went(&mut self, now: Tick, id: QueueId, number: u64) {
        self.want_round(now);
        let quick = self.knobs.quick;
        let Some(allocation) = self.book.queue(id).and_then(|queue| queue.allocations.get(&number)) else { return };
        let has_lived = allocation.gone.values().any(|(_, lived)| *lived > quick);
        let all_lost = allocation.gone.values().all(|(reason, lived)| reason.is_unexpected() && *lived <= quick);
        let any_lost = allocation.gone.values().any(|(reason, _)| reason.is_unexpected());
        let is_over = allocation.here.is_empty() && allocation.gone.len() >= allocation.workers as usize;
        let key = allocation.key.clone();
        if has_lived && let Some(mind) = self.minds.get_mut(&id) {
            mind.health.allocation_succeeded();
        }
        if !is_over || !allocation.is_active() {
            return;
        }
        if any_lost {
            // Its end is certain only then.
            self.cancel(now, id, number);
            self.look_after(now);
        }
        let name = self.name_of(id, number);
        let error = all_lost.then(|| format!("all workers of allocation {name} were lost within {quick}"));
        if let Some(error) = error.clone() {
            self.allocation_failed(now, id, error);
        } else if let Some(mind) = self.minds.get_mut(&id) {
            mind.health.allocation_succeeded();
        }
        self.end(now, id, &key, error);
    }

    fn name_of(&self, id: QueueId, number: u64) -> String {
        let allocation = self.book.queue(id).and_then(|queue| queue.allocations.get(&number));
        allocation.and_then(|a| a.id.clone()).unwrap_or_default()
    }

    /// An allocation begins.
    pub(super) fn begin(&mut self, now: Tick, queue: QueueId, key: &str) {
        let id = self.book.allocation(queue, key).and_then(|a| a.id.clone()).unwrap_or_default();
        self.emit(now, Fact::AllocationStarted { queue, key: key.to_owned(), id });
    }

    /// An allocation is over.
    pub(super) fn end(&mut self, now: Tick, id: QueueId, key: &str, error: Option<String>) {
        let name = self.book.allocation(id, key).and_then(|a| a.id.clone());
        self.emit(now, Fact::AllocationEnded { queue: id, key: key.to_owned(), id: name, error });
        self.forget_cares(id);
        self.want_round(now);
        self.finish_closing(now, id);
    }

    /// Nobody cares for what has ended, but for ends that were not confirmed yet.
    fn forget_cares(&mut self, id: QueueId) {
        let (Some(queue), Some(mind)) = (self.book.queue(id), self.minds.get_mut(&id)) else { return };
        mind.cares.retain(|number, care| {
            let is_active = queue.allocations.get(number).is_some_and(super::Allocation::is_active);
            is_active || care.cancel.as_ref().is_some_and(|cancel| cancel.is_out || cancel.at.is_some())
        });
    }
}

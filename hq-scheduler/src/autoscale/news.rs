use std::sync::Arc;

use hq_core::{Fact, PauseCause, QueueId, Span, Tick};

use super::{
    Asked, Autoscaler, Queue, ScaleAction, ScaleNews, ScaleOrder, ScaleStatus, Told,
    care::{Care, Find},
};

/// After a submission of unknown fate its allocation is looked for that much later.
const FIND_FIRST: Span = Span::secs(5);
/// And again after that long, as it may show late; also where the look itself failed.
const FIND_AGAIN: Span = Span::secs(20);
/// It has to be missing so often.
const MISSES: u32 = 2;
/// A failed end is tried again after that long.
const CANCEL_AGAIN: Span = Span::secs(5);
/// So often at most.
const CANCELS: u32 = 3;

impl Autoscaler {
    /// Takes what a backend says. What is stale changes nothing.
    pub fn hear(&mut self, now: Tick, news: ScaleNews) {
        let queue = news.queue;
        match news.told {
            Told::Has { key, id } => self.has(now, queue, &key, id),
            Told::Refused { key, error } => self.refused(now, queue, &key, error),
            Told::Unsure { key, error } => self.unsure(now, queue, &key, error),
            Told::Missing { key } => self.missing(now, queue, &key),
            Told::Status(all) => {
                if let Some(mind) = self.minds.get_mut(&queue) {
                    mind.is_asking = false;
                }
                for (key, status) in all {
                    self.status(now, queue, &key, status);
                }
            }
            Told::Canceled { key, error } => self.canceled(now, queue, &key, error),
            Told::Probed { error } => self.probed(now, queue, error),
        }
    }

    /// The number of an allocation that has not ended.
    fn active(&self, queue: QueueId, key: &str) -> Option<u64> {
        self.book.queue(queue)?.by_key(key).filter(|(_, a)| a.is_active()).map(|(number, _)| number)
    }

    fn has(&mut self, now: Tick, queue: QueueId, key: &str, id: String) {
        let known = self.active(queue, key).map(|number| (number, self.book.allocation(queue, key)));
        let current = known.and_then(|(_, a)| a?.id.clone());
        let Some(number) = known.map(|(number, _)| number).filter(|_| current.is_none()) else {
            if current.as_ref() != Some(&id) {
                // Nobody would ever end it otherwise.
                let spec = self.book.queue(queue).map(|queue| Arc::clone(&queue.spec)).unwrap_or_default();
                let dir = self.book.allocation(queue, key).and_then(|a| a.dir.clone());
                let allocation = Asked { key: key.to_owned(), id, dir };
                self.actions.push_back(ScaleAction::Order(ScaleOrder::Cancel { queue, spec, allocation }));
            }
            return;
        };
        self.end_twins(now, queue, &id);
        let workers = self.book.allocation(queue, key).map_or(0, |a| a.workers);
        let strangers = self.book.strangers_in(&id);
        self.emit(now, Fact::AllocationQueued { queue, key: key.to_owned(), id, workers });
        for (worker, config) in strangers {
            self.worker_came(now, worker, &config);
        }
        if let Some(mind) = self.minds.get_mut(&queue) {
            mind.health.submit_succeeded();
            mind.cares.remove(&number);
            mind.submitting.take_if(|submitting| submitting == key);
        }
        if self.is_stopping || self.book.queue(queue).is_some_and(|queue| queue.is_closing) {
            self.cancel_all(now, queue);
        } else {
            self.go_on(now, queue);
        }
    }

    /// An id that is given again: whoever had it before is gone, as after a crash of the manager.
    fn end_twins(&mut self, now: Tick, queue: QueueId, id: &str) {
        let Some(backend) = self.book.queue(queue).map(|queue| queue.spec.backend.clone()) else { return };
        let same = self.book.queues().filter(|(_, queue)| queue.spec.backend == backend);
        let all = same.flat_map(|(queue, known)| known.active().map(move |(_, a)| (queue, a)));
        let twins: Vec<(QueueId, String)> =
            all.filter(|(_, a)| a.id.as_deref() == Some(id)).map(|(queue, a)| (queue, a.key.clone())).collect();
        for (queue, key) in twins {
            self.end(now, queue, &key, Some(format!("its id {id} was given to another allocation")));
        }
    }

    fn refused(&mut self, now: Tick, queue: QueueId, key: &str, error: String) {
        let Some(number) = self.active(queue, key) else { return };
        if self.book.allocation(queue, key).is_some_and(|a| a.id.is_some()) {
            return;
        }
        let Some(mind) = self.minds.get_mut(&queue) else { return };
        mind.submitting.take_if(|submitting| submitting == key);
        mind.plan.clear();
        mind.cares.remove(&number);
        mind.failed.push_back(number);
        let is_too_often = mind.health.submit_failed(now, &self.knobs);
        let rest = mind.health.probe_at().map_or(Span::ZERO, |at| at.since(now));
        self.actions.push_back(ScaleAction::Warn(format!("Queue {queue}: {error}")));
        self.end(now, queue, key, Some(error.clone()));
        if is_too_often && self.book.queue(queue).is_some_and(Queue::is_asking) {
            self.pause_for(now, queue, PauseCause::Submissions(error), rest);
        }
        self.want_round(now);
    }

    fn unsure(&mut self, now: Tick, queue: QueueId, key: &str, error: String) {
        let Some(number) = self.active(queue, key) else { return };
        let Some(mind) = self.minds.get_mut(&queue) else { return };
        mind.plan.clear();
        let wait = if self.is_stopping { Span::ZERO } else { FIND_FIRST };
        let care = mind.cares.entry(number).or_default();
        match &mut care.find {
            // The look itself has failed.
            Some(find) => find.at = (!self.is_stopping).then(|| now.after(FIND_AGAIN)),
            find => *find = Some(Find { at: Some(now.after(wait)), misses: 0, until: now, why: error }),
        }
        if self.is_stopping && care.find.as_ref().is_some_and(|find| find.at.is_none()) {
            care.find = None;
            mind.submitting.take_if(|submitting| submitting == key);
        }
        self.look_after(now);
    }

    fn missing(&mut self, now: Tick, queue: QueueId, key: &str) {
        let Some(number) = self.active(queue, key) else { return };
        let Some(find) =
            self.minds.get_mut(&queue).and_then(|mind| mind.cares.get_mut(&number)).and_then(|care| care.find.as_mut())
        else {
            return;
        };
        find.misses += u32::from(now >= find.until);
        if self.is_stopping && now < find.until {
            // The next server looks for it.
            if let Some(care) = self.minds.get_mut(&queue).and_then(|mind| mind.cares.get_mut(&number)) {
                care.find = None;
            }
        } else if find.misses >= MISSES || self.is_stopping {
            let error = find.why.clone();
            self.refused(now, queue, key, error);
        } else {
            find.at = Some(now.after(FIND_AGAIN));
        }
    }

    fn status(&mut self, now: Tick, queue: QueueId, key: &str, status: Result<ScaleStatus, String>) {
        let Some(number) = self.active(queue, key) else { return };
        let Some(is_running) = self.book.allocation(queue, key).map(|a| a.started.is_some()) else { return };
        let Some(mind) = self.minds.get_mut(&queue) else { return };
        let care = mind.cares.entry(number).or_default();
        match status {
            Ok(ScaleStatus::Queued) => care.errors = 0,
            Ok(ScaleStatus::Running) => {
                care.errors = 0;
                if !is_running {
                    self.begin(now, queue, key);
                    self.want_round(now);
                }
            }
            Ok(ScaleStatus::Ended { error }) => self.ended(now, queue, key, number, error),
            Err(error) => {
                care.errors += 1;
                let most = if is_running { self.knobs.running_errors } else { self.knobs.queued_errors };
                if care.errors > most {
                    let text = format!("Queue {queue}: the state of an allocation cannot be found out: {error}");
                    self.actions.push_back(ScaleAction::Warn(text));
                    self.end(now, queue, key, (!is_running).then_some(error));
                }
            }
        }
    }

    /// The manager says that it is over.
    fn ended(&mut self, now: Tick, queue: QueueId, key: &str, number: u64, error: Option<String>) {
        let Some(allocation) = self.book.allocation(queue, key) else { return };
        let came = allocation.has_had_workers();
        let quick = self.knobs.quick;
        let lived = allocation.had_workers
            || allocation.here.values().any(|since| now.since(*since) > quick)
            || allocation.gone.values().any(|(reason, lived)| *lived > quick || !reason.is_unexpected());
        let id = allocation.id.clone().unwrap_or_default();
        let was_late = self.minds.get(&queue).and_then(|mind| mind.cares.get(&number)).is_some_and(|care| care.is_late);
        let is_ours = self.is_canceled(queue, number);
        if is_ours {
            return self.end(now, queue, key, None);
        }
        if !came || error.is_some() && !lived {
            if !was_late {
                let text = error.clone().unwrap_or_else(|| "it ended before a worker of it came".to_owned());
                self.allocation_failed(now, queue, format!("allocation {id}: {text}"));
            }
        } else if let Some(mind) = self.minds.get_mut(&queue) {
            mind.health.allocation_succeeded();
        }
        self.end(now, queue, key, error);
    }

    fn is_canceled(&self, queue: QueueId, number: u64) -> bool {
        let care: Option<&Care> = self.minds.get(&queue).and_then(|mind| mind.cares.get(&number));
        care.is_some_and(|care| care.cancel.is_some())
    }

    fn canceled(&mut self, now: Tick, queue: QueueId, key: &str, error: Option<String>) {
        let Some((number, is_active)) =
            self.book.queue(queue).and_then(|queue| queue.by_key(key)).map(|(number, a)| (number, a.is_active()))
        else {
            return;
        };
        let is_closing = self.book.queue(queue).is_some_and(|queue| queue.is_closing);
        let is_last = self.is_stopping;
        let Some(mind) = self.minds.get_mut(&queue) else { return };
        let Some(cancel) = mind.cares.get_mut(&number).and_then(|care| care.cancel.as_mut()) else { return };
        cancel.is_out = false;
        match error {
            None if is_active && (is_last || is_closing) => self.end(now, queue, key, None),
            None if is_active => {}
            None => _ = mind.cares.remove(&number),
            Some(error) => {
                cancel.tries += 1;
                let goes_on = cancel.tries < CANCELS && !is_last;
                cancel.at = goes_on.then(|| now.after(CANCEL_AGAIN));
                if goes_on {
                    return;
                }
                self.actions.push_back(ScaleAction::Warn(format!("Queue {queue}: {error}; it may go on")));
                if is_active && is_closing {
                    self.end(now, queue, key, Some(error));
                } else if !is_last && let Some(mind) = self.minds.get_mut(&queue) {
                    mind.cares.remove(&number);
                }
            }
        }
    }

    fn probed(&mut self, now: Tick, queue: QueueId, error: Option<String>) {
        let Some(mind) = self.minds.get_mut(&queue) else { return };
        mind.is_probing = false;
        mind.health.probed(now, error.is_none(), &self.knobs);
        let is_paused = self.book.queue(queue).is_some_and(|q| matches!(q.paused, Some(PauseCause::Submissions(_))));
        if error.is_none() {
            if is_paused {
                self.emit(now, Fact::QueueResumed { queue });
            }
            self.want_round(now);
        }
    }
}

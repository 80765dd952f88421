use std::sync::Arc;

use hq_core::{AllocationState, Fact, PauseCause, QueueId, QueueSpec, Span, Tick};

use super::{Autoscaler, Queue, QueueRefusal, care::Mind};

/// Workers of one allocation at most.
const WORKERS_MAX: u32 = 65_536;
/// Allocations that wait at most.
const BACKLOG_MAX: u32 = 10_000;

impl Autoscaler {
    /// A new queue; it is asked for machines at once where some are wanted.
    ///
    /// # Errors
    /// Says what is wrong with it; nothing has changed then.
    pub fn create(&mut self, now: Tick, spec: QueueSpec) -> Result<QueueId, QueueRefusal> {
        check_queue(&spec)?;
        let queue = self.book.next_queue().ok_or_else(|| invalid("no more queue ids"))?;
        self.minds.insert(queue, Mind::default());
        self.emit(now, Fact::QueueCreated { queue, spec: Arc::new(spec) });
        self.want_round(now);
        Ok(queue)
    }

    /// No further allocations of this queue; what there is goes on.
    ///
    /// # Errors
    /// There is no such queue.
    pub fn pause(&mut self, now: Tick, queue: QueueId) -> Result<(), QueueRefusal> {
        let known = self.open(queue)?;
        if known.paused != Some(PauseCause::User) {
            self.pause_for(now, queue, PauseCause::User, Span::ZERO);
        }
        Ok(())
    }

    /// Allocations of this queue again, at once and as if none had ever failed.
    ///
    /// # Errors
    /// There is no such queue.
    pub fn resume(&mut self, now: Tick, queue: QueueId) -> Result<(), QueueRefusal> {
        let is_paused = self.open(queue)?.paused.is_some();
        if let Some(mind) = self.minds.get_mut(&queue) {
            mind.health = super::health::Health::default();
            mind.retry_at = None;
        }
        if is_paused {
            self.emit(now, Fact::QueueResumed { queue });
        }
        self.want_round(now);
        Ok(())
    }

    /// A queue goes, and all its allocations with it: [`Fact::QueueRemoved`] is recorded when none of them is left.
    ///
    /// # Errors
    /// There is no such queue, or it has allocations that have begun and this is not by force; nothing has changed then.
    pub fn remove(&mut self, now: Tick, queue: QueueId, force: bool) -> Result<(), QueueRefusal> {
        let known = self.book.queue(queue).ok_or(QueueRefusal::NotFound(queue))?;
        if !force && known.active().any(|(_, a)| a.state() == AllocationState::Running) {
            return Err(QueueRefusal::Running);
        }
        if !known.is_closing {
            self.emit(now, Fact::QueueClosing { queue });
        }
        if let Some(mind) = self.minds.get_mut(&queue) {
            mind.plan.clear();
            for find in mind.cares.values_mut().filter_map(|care| care.find.as_mut()) {
                find.at = find.at.map(|_| now);
            }
        }
        self.cancel_all(now, queue);
        self.look_after(now);
        self.finish_closing(now, queue);
        Ok(())
    }

    /// Asks for nothing more, and has all that there is ended; where it `leaves` some to a server that follows, not those in
    /// which a worker waits for that one. It is over once it [is quiet](Self::is_quiet).
    pub fn stop(&mut self, now: Tick, leaves: bool) {
        self.is_stopping = true;
        let queues: Vec<QueueId> = self.minds.keys().copied().collect();
        for queue in queues {
            if let Some(mind) = self.minds.get_mut(&queue) {
                mind.plan.clear();
                for find in mind.cares.values_mut().filter_map(|care| care.find.as_mut()) {
                    find.at = find.at.map(|_| now);
                }
            }
            self.cancel_but(now, queue, |book, allocation| leaves && book.may_come_back(allocation));
            self.look_after(now);
        }
    }

    /// A closing queue goes when nothing is left of it.
    pub(super) fn finish_closing(&mut self, now: Tick, queue: QueueId) {
        if self.book.queue(queue).is_some_and(|known| known.is_closing && known.active().next().is_none()) {
            self.minds.remove(&queue);
            self.emit(now, Fact::QueueRemoved { queue });
        }
    }

    fn open(&self, queue: QueueId) -> Result<&Queue, QueueRefusal> {
        self.book.queue(queue).filter(|known| !known.is_closing).ok_or(QueueRefusal::NotFound(queue))
    }
}

/// Whether a queue could be made like that.
///
/// # Errors
/// [`QueueRefusal::Invalid`].
pub fn check_queue(spec: &QueueSpec) -> Result<(), QueueRefusal> {
    if spec.backlog == 0 {
        return Err(invalid("Backlog has to be at least 1"));
    }
    if spec.backlog > BACKLOG_MAX {
        return Err(invalid(&format!("Backlog can be at most {BACKLOG_MAX}")));
    }
    if !(1..=WORKERS_MAX).contains(&spec.workers_per_allocation) {
        return Err(invalid(&format!("An allocation can have 1 to {WORKERS_MAX} workers")));
    }
    if spec.time_limit == Some(Span::ZERO) {
        return Err(invalid("Time limit has to be longer than nothing"));
    }
    let longest = spec.time_limit.unwrap_or(Span(u64::MAX));
    if spec.worker_time_limit.is_some_and(|limit| limit > longest) {
        return Err(invalid("Worker time limit cannot be larger than queue time limit"));
    }
    Ok(())
}

fn invalid(text: &str) -> QueueRefusal {
    QueueRefusal::Invalid(text.to_owned())
}

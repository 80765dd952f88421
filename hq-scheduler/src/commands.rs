//! What may be refused.

use std::{collections::BTreeMap, sync::Arc};

use hq_core::{
    CancelOutcome, CloseOutcome, Epoch, Fact, IdList, JobId, JobSpec, JobTarget, Ordinal, Refusal, Span, Submit,
    Tangle, TaskIds, TaskNumber, TaskState, Tick, WorkerConfig, WorkerId,
};

use crate::{Action, CancelToken, JoinRefused, Scheduler, mind::Reach, state::Effects};

/// What came of a cancel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Canceling {
    /// It is complete.
    Done(CancelOutcome),
    /// It waits for recalls: [`Action::Canceled`] will tell, after at most two seconds.
    Pending(CancelToken),
}

const HEARTBEAT_MIN: Span = Span::millis(150);

impl Scheduler {
    /// Begins a life: the epoch after the last one. Workers of the life before are gone, their tasks wait again.
    pub fn boot(&mut self, now: Tick, server_uid: String, wall: u64, version: String) -> Epoch {
        let epoch = Epoch(self.state.epoch.0.saturating_add(1));
        let mut fx = Effects::default();
        self.emit(now, Fact::Boot { epoch, server_uid, wall, version }, &mut fx);
        self.mind = crate::mind::Mind::default();
        if let Some((order, placement)) = self.state.policy.clone()
            && let Err(error) = self.policies.choose(&order, &placement)
        {
            // A policy of an embedder that is not registered this time: the default decides until one is chosen.
            self.actions.push_back(Action::Warn(error));
        }
        self.note_popularity_of_waiting();
        fx.ready.extend(self.state.ready.keys().copied());
        self.mind.moved.extend(self.state.ready.keys().copied());
        // An abort for too many failures may have been cut short.
        fx.failed.extend(self.state.jobs.iter().filter(|(_, job)| job.counts.failed > 0).map(|(id, _)| *id));
        self.settle(now, fx);
        epoch
    }

    /// Takes tasks.
    ///
    /// # Errors
    /// Says why not; nothing has changed then.
    pub fn submit(&mut self, now: Tick, mut submit: Submit) -> Result<JobId, Refusal> {
        let job = match &submit.job {
            JobTarget::New(_) => JobId(self.state.last_job.checked_add(1).ok_or_else(|| invalid("no more job ids"))?),
            JobTarget::Attach(job) => {
                let known = self.state.jobs.get(job).ok_or(Refusal::NoJob(*job))?;
                if known.is_open { *job } else { return Err(Refusal::NotOpen(*job)) }
            }
        };
        check_shape(&submit)?;
        let top = self.state.jobs.get(&job).and_then(|known| known.top);
        let ids = self.settle_ids(job, top, &submit)?;
        self.check_deps(job, &submit, &ids, 0)?;
        submit.ids = TaskIds::Given(ids);
        self.check_after(job, &submit)?;
        let base = Ordinal(self.state.next_ordinal);
        let mut fx = Effects::default();
        self.emit(now, Fact::Submitted { job, base, submit: Arc::new(submit) }, &mut fx);
        self.recall_usage(base);
        self.note_popularity(base);
        self.settle(now, fx);
        Ok(job)
    }

    /// Makes an open job.
    pub fn open(&mut self, now: Tick, spec: JobSpec) -> JobId {
        let job = JobId(self.state.last_job.saturating_add(1));
        self.emit(now, Fact::JobOpened { job, spec }, &mut Effects::default());
        job
    }

    /// Notes that an open job ends with the client that made it: who drives this core closes it then.
    ///
    /// # Errors
    /// Where there is no such job, or it is closed.
    pub fn bind(&mut self, now: Tick, job: JobId) -> Result<(), Refusal> {
        match self.state.jobs.get(&job) {
            None => Err(Refusal::NoJob(job)),
            Some(known) if !known.is_open => Err(Refusal::NotOpen(job)),
            Some(known) if known.is_bound => Ok(()),
            Some(_) => {
                self.emit(now, Fact::JobBound { job }, &mut Effects::default());
                Ok(())
            }
        }
    }

    /// Closes an open job.
    pub fn close(&mut self, now: Tick, job: JobId) -> CloseOutcome {
        match self.state.jobs.get(&job) {
            None => CloseOutcome::NotFound,
            Some(known) if !known.is_open => CloseOutcome::AlreadyClosed,
            Some(_) => {
                let mut fx = Effects::default();
                self.emit(now, Fact::JobClosed { job }, &mut fx);
                self.settle(now, fx);
                CloseOutcome::Closed
            }
        }
    }

    /// Cancels what has not ended of a job.
    pub fn cancel(&mut self, now: Tick, job: JobId, reason: Option<String>) -> Canceling {
        self.cancel_tasks(now, job, reason, Reach::All)
    }

    /// Cancels what has not started of a job; what runs goes on to its end. A backlog that does not answer in time is
    /// cancelled as [`cancel`](Self::cancel) does it, whatever of it has started unheard.
    pub fn cancel_waiting(&mut self, now: Tick, job: JobId, reason: Option<String>) -> Canceling {
        self.cancel_tasks(now, job, reason, Reach::Waiting)
    }

    fn cancel_tasks(&mut self, now: Tick, job: JobId, reason: Option<String>, reach: Reach) -> Canceling {
        let Some(known) = self.state.jobs.get(&job) else { return Canceling::Done(CancelOutcome::NotFound) };
        if known.counts.is_terminated() {
            return Canceling::Done(CancelOutcome::NothingLeft);
        }
        let mut fx = Effects::default();
        self.emit(now, Fact::JobCanceled { job, reason }, &mut fx);
        self.mind.last_token += 1;
        let token = CancelToken(self.mind.last_token);
        let ended = self.withdraw(now, job, TaskState::Canceled, reach, Some(token), &mut fx);
        self.settle(now, fx);
        match ended {
            Some(ended) => Canceling::Done(self.cancel_outcome(job, ended)),
            None => Canceling::Pending(token),
        }
    }

    /// Removes a closed, terminated job from the books; says whether it did. Killed tasks of it may still be dying.
    pub fn forget(&mut self, now: Tick, job: JobId) -> bool {
        let gone = self.state.jobs.get(&job).is_some_and(|known| !known.is_open && known.counts.is_terminated());
        if gone {
            let bases = self.state.jobs.get(&job).map(|job| job.submits.clone()).unwrap_or_default();
            let mut owners = BTreeMap::new();
            for base in bases {
                self.drop_body(base);
                let submit = self.state.submits.get(&base).map(|known| known.submit.clone());
                owners.extend(submit.map(|submit| (submit.owner.clone(), self.state.owners.find(&submit.owner))));
            }
            self.emit(now, Fact::JobForgotten { job }, &mut Effects::default());
            owners.into_iter().for_each(|(owner, parties)| self.keep_usage(now, &owner, parties));
        }
        gone
    }

    /// Lets another order and placement decide, from the next round on.
    ///
    /// # Errors
    /// For names that are not registered.
    pub fn set_policy(&mut self, now: Tick, order: &str, placement: &str) -> Result<(), Refusal> {
        self.policies.choose(order, placement).map_err(Refusal::Invalid)?;
        let fact = Fact::PolicyChanged { order: order.to_owned(), placement: placement.to_owned() };
        self.emit(now, fact, &mut Effects::default());
        self.follow_policy();
        Ok(())
    }

    /// Another policy decides: nothing of the one before stays.
    pub(crate) fn follow_policy(&mut self) {
        self.mind.settled.clear();
        self.mind.deep.forget_ranks();
        self.mind.waits = Default::default();
        self.mind.moved.extend(self.state.ready.keys().copied());
        self.mind.known_places.clear();
        self.mind.dirty_queues.extend(self.state.ready.keys().copied());
        self.mind.dirty_workers.extend(self.state.workers.keys().copied());
        // What the order before held back has to be thought over; all that waits is.
        self.mind.held.clear();
        self.mind.held_until = None;
        self.mind.moves_at = None;
        self.mind.needs_round = true;
    }

    /// Takes a worker.
    ///
    /// # Errors
    /// For what the engine cannot count.
    pub fn join(&mut self, now: Tick, config: WorkerConfig) -> Result<WorkerId, JoinRefused> {
        if config.heartbeat <= HEARTBEAT_MIN {
            return Err(JoinRefused::Heartbeat(config.heartbeat));
        }
        let worker = WorkerId(self.state.last_worker.checked_add(1).ok_or(JoinRefused::Workers)?);
        let mut fx = Effects::default();
        self.emit(now, Fact::WorkerJoined { worker, config: Arc::new(config) }, &mut fx);
        self.know_worker(now, worker);
        self.settle(now, fx);
        Ok(worker)
    }

    /// Notes of a worker that is there now what is kept beside the lasting state.
    pub(crate) fn know_worker(&mut self, now: Tick, worker: WorkerId) {
        let Some(config) = self.state.workers.get(&worker).map(|known| known.config.clone()) else { return };
        self.count_resources(&config, true);
        if config.min_utilization > 0 {
            self.mind.choosy.insert(worker);
        }
        if self.state.workers.len() == 1 {
            // Until now nobody asked for ranks, nor who could run what.
            self.mind.moved.extend(self.state.ready.keys().copied());
        }
        if let Some(known) = self.state.workers.get(&worker) {
            self.mind.deadlines.extend(known.deadline().map(|deadline| (deadline, worker)));
            self.mind.makes.join(worker, known, |class| self.state.classes.get(class));
        }
        self.note_idle(now, [worker]);
    }

    /// What the numbers of the submit are: given and new in the job, or the next free ones after `top`.
    pub(crate) fn settle_ids(&self, job: JobId, top: Option<u32>, submit: &Submit) -> Result<IdList, Refusal> {
        let known = self.state.jobs.get(&job);
        match &submit.ids {
            TaskIds::Given(ids) => {
                ids.distinct().map_err(|tangle| invalid(&tangle.to_string()))?;
                let (Some(known), true) = (known, ids.min() <= known.and_then(|known| known.top)) else {
                    return Ok(ids.clone());
                };
                let bases = known.by_number.range(..=ids.max().unwrap_or(0)).map(|(_, base)| base);
                for other in bases.filter_map(|base| self.state.submits.get(base)?.ids()) {
                    other.apart(ids).map_err(|tangle| match tangle {
                        Tangle::Twice(number) => Refusal::TaskExists(TaskNumber(number), job),
                        Tangle::TooMany => invalid(&tangle.to_string()),
                    })?;
                }
                Ok(ids.clone())
            }
            TaskIds::Next(count) => {
                let first = match top {
                    None => 0,
                    Some(top) => top.checked_add(1).ok_or_else(|| invalid("no more task numbers in this job"))?,
                };
                if count.checked_sub(1).is_some_and(|n| first.checked_add(n).is_none()) {
                    return Err(invalid("no more task numbers in this job"));
                }
                Ok(IdList::range(first, *count))
            }
        }
    }

    /// Each job that is waited for is there, and does not wait for this one in turn.
    pub(crate) fn check_after(&self, job: JobId, submit: &Submit) -> Result<(), Refusal> {
        // Nobody can wait for a job that there is not yet.
        let is_known = self.state.jobs.contains_key(&job);
        for dep in &submit.after {
            if !self.state.jobs.contains_key(&dep.job) {
                return Err(Refusal::NoJob(dep.job));
            }
            if is_known && self.state.waits_for(dep.job, job) {
                return Err(invalid(&format!("job {job} cannot wait for job {}, which would wait for it", dep.job)));
            }
        }
        Ok(())
    }
}

/// Whether it is something that can be taken.
fn check_shape(submit: &Submit) -> Result<(), Refusal> {
    if submit.ids.count() == 0 && matches!(submit.job, JobTarget::New(_)) {
        return Err(invalid("a submit has to have at least one task"));
    }
    submit.check().map_err(invalid)
}

pub(crate) fn invalid(text: &str) -> Refusal {
    Refusal::Invalid(text.to_owned())
}

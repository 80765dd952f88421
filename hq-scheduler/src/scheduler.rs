use hq_core::{
    CancelOutcome, CloseOutcome, Epoch, JobId, JobSpec, Ordinal, Record, Refusal, Submit, TaskNumber, Tick, WorkerConfig, WorkerId,
};

use crate::{
    Action, CancelToken, JoinRefused, News,
    view::{JobTasks, JobView, TaskView, WorkerView},
};

/// The scheduling core.
#[derive(Debug, Default)]
pub struct Scheduler {}

/// What came of a cancel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Canceling {
    /// It is complete.
    Done(CancelOutcome),
    /// It waits for recalls: [`Action::Canceled`] will tell, after at most two seconds.
    Pending(CancelToken),
}

#[expect(unused_variables, clippy::unused_self, reason = "being written")]
impl Scheduler {
    /// Nothing in it.
    pub fn new() -> Self {
        Self {}
    }

    /// Applies a record of the journal, in order; before [`boot`](Self::boot).
    ///
    /// # Errors
    /// One line, where the record contradicts those before.
    pub fn replay(&mut self, record: &Record) -> Result<(), String> {
        Ok(())
    }

    /// Begins a life: the epoch after the last one. Workers of the life before are gone, their tasks wait again.
    pub fn boot(&mut self, now: Tick, server_uid: String, wall: u64, version: String) -> Epoch {
        Epoch(1)
    }

    /// Takes tasks.
    ///
    /// # Errors
    /// Says why not; nothing has changed then.
    pub fn submit(&mut self, now: Tick, submit: Submit) -> Result<JobId, Refusal> {
        Ok(JobId(1))
    }

    /// Makes an open job.
    pub fn open(&mut self, now: Tick, spec: JobSpec) -> JobId {
        JobId(1)
    }

    /// Closes an open job.
    pub fn close(&mut self, now: Tick, job: JobId) -> CloseOutcome {
        CloseOutcome::NotFound
    }

    /// Cancels what has not ended of a job.
    pub fn cancel(&mut self, now: Tick, job: JobId, reason: Option<String>) -> Canceling {
        Canceling::Done(CancelOutcome::NotFound)
    }

    /// Removes a closed, terminated job from the books; says whether it did.
    pub fn forget(&mut self, now: Tick, job: JobId) -> bool {
        false
    }

    /// Lets another order and placement decide.
    ///
    /// # Errors
    /// For names that are not registered.
    pub fn set_policy(&mut self, now: Tick, order: &str, placement: &str) -> Result<(), Refusal> {
        Ok(())
    }

    /// Takes a worker.
    ///
    /// # Errors
    /// For what the engine cannot count.
    pub fn join(&mut self, now: Tick, config: WorkerConfig) -> Result<WorkerId, JoinRefused> {
        Ok(WorkerId(1))
    }

    /// Takes news; stale ones change nothing.
    pub fn handle_event(&mut self, now: Tick, news: News) {}

    /// Takes the passing of time.
    pub fn handle_timeout(&mut self, now: Tick) {}

    /// The next thing to do. A round of placement runs in here when something has changed.
    pub fn poll_action(&mut self, now: Tick) -> Option<Action> {
        None
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called next.
    pub fn poll_timeout(&self) -> Option<Tick> {
        None
    }

    /// The largest job id ever given.
    pub fn last_job(&self) -> Option<JobId> {
        None
    }

    /// All jobs by id.
    pub fn jobs(&self) -> impl Iterator<Item = JobView<'_>> {
        std::iter::empty()
    }

    /// One job.
    pub fn job(&self, job: JobId) -> Option<JobView<'_>> {
        None
    }

    /// Tasks of a job.
    pub fn job_tasks(&self, job: JobId) -> Option<JobTasks> {
        None
    }

    /// One task.
    pub fn task(&self, task: Ordinal) -> Option<TaskView<'_>> {
        None
    }

    /// Job and number of a task.
    pub fn locate(&self, task: Ordinal) -> Option<(JobId, TaskNumber)> {
        None
    }

    /// The task of that number.
    pub fn find(&self, job: JobId, number: TaskNumber) -> Option<Ordinal> {
        None
    }

    /// The largest worker id ever given.
    pub fn last_worker(&self) -> Option<WorkerId> {
        None
    }

    /// All workers that ever were in this life of the server, by id.
    pub fn workers(&self) -> impl Iterator<Item = WorkerView<'_>> {
        std::iter::empty()
    }

    /// One worker.
    pub fn worker(&self, worker: WorkerId) -> Option<WorkerView<'_>> {
        None
    }

    /// The worker (of a gang: the main one) of a grant that is open.
    pub fn grant_worker(&self, grant: hq_core::GrantId) -> Option<WorkerId> {
        None
    }
}

use std::{
    future::{Future, IntoFuture},
    pin::Pin,
};

use hq_core::{
    CancelOutcome, ClientReply, ClientRequest, DetailPart, Event, EventKind, JobDetail, JobId, JobInfo, JobState, Seq,
    TaskNumber, TaskState,
};

use crate::{EngineError, EngineHandle, EventStream, JobReport, events::Item};

/// A job that was handed over. Awaited, it gives the job's [`JobResult`]; dropped, the job goes on.
#[derive(Clone, Debug)]
pub struct JobHandle {
    id: JobId,
    /// Number of the first event that can be about the job.
    since: Option<Seq>,
    handle: EngineHandle,
}

/// A job that has ended.
///
/// ```
/// use hq_engine::{Engine, Job, LocalWorker, Task, TaskNumber};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let engine = Engine::builder().worker(LocalWorker::cpus(2)).start().await?;
/// let task = Task::call(|ctx| if ctx.number() == TaskNumber(2) { Err("it is the second one") } else { Ok(()) });
/// let result = engine.submit(Job::array(1..4, task)).await?.await?;
///
/// assert!(!result.is_success());
/// assert_eq!((result.info.counts.finished, result.info.counts.failed), (2, 1));
/// assert_eq!(result.failures, [(TaskNumber(2), "it is the second one".to_owned())]);
/// # engine.shutdown().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobResult {
    /// Its counts and times.
    pub info: JobInfo,
    /// Tasks that failed, by number, and why.
    pub failures: Vec<(TaskNumber, String)>,
}

impl JobResult {
    /// Whether every task finished.
    pub fn is_success(&self) -> bool {
        self.info.state() == JobState::Finished
    }
}

impl JobHandle {
    pub(crate) const fn new(id: JobId, since: Option<Seq>, handle: EngineHandle) -> Self {
        Self { id, since, handle }
    }

    /// The job.
    pub const fn id(&self) -> JobId {
        self.id
    }

    /// Waits until all tasks have ended and that is durable, and an open job is closed.
    ///
    /// # Errors
    /// Where the engine ends before, or the job is forgotten.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn wait(&self) -> Result<JobResult, EngineError> {
        self.handle.call(ClientRequest::WaitJobs { jobs: self.id.into(), until_closed: true }).await?;
        let info = self.info().await?;
        if info.counts.failed == 0 {
            return Ok(JobResult { info, failures: vec![] });
        }
        let failed = self.tasks_in(vec![TaskState::Failed]).await?.tasks;
        let failures = failed.into_iter().map(|task| (task.number, task.error.unwrap_or_default())).collect();
        Ok(JobResult { info, failures })
    }

    /// Its counts and times.
    ///
    /// # Errors
    /// Where the engine has ended, or the job is forgotten.
    pub async fn info(&self) -> Result<JobInfo, EngineError> {
        match self.handle.call(ClientRequest::Jobs(self.id.into())).await? {
            ClientReply::Jobs(mut page) => page.items.pop().ok_or(EngineError::Forgotten(self.id)),
            other => Err(EngineError::Unexpected(Box::new(other))),
        }
    }

    /// All that is known of its tasks.
    ///
    /// # Errors
    /// Where the engine has ended, or the job is forgotten.
    pub async fn details(&self) -> Result<JobDetail, EngineError> {
        self.tasks_in(vec![]).await
    }

    /// The job with its tasks in these states; none: in any.
    async fn tasks_in(&self, states: Vec<TaskState>) -> Result<JobDetail, EngineError> {
        let mut whole: Option<JobDetail> = None;
        let mut part = DetailPart { states, ..DetailPart::default() };
        loop {
            let request = ClientRequest::JobDetails { jobs: self.id.into(), part: part.clone() };
            let mut page = match self.handle.call(request).await? {
                ClientReply::JobDetails(page) => page,
                other => return Err(EngineError::Unexpected(Box::new(other))),
            };
            let piece = page.jobs.pop().ok_or(EngineError::Forgotten(self.id))?;
            match &mut whole {
                Some(whole) => whole.append(piece),
                None => whole = Some(piece),
            }
            match (page.next, whole.take()) {
                (Some(next), told) => (part.from, whole) = (next, told),
                (None, Some(whole)) => return Ok(whole),
                (None, None) => return Err(EngineError::Forgotten(self.id)),
            }
        }
    }

    /// What ran where, for how long, and how much of the workers that used.
    ///
    /// # Errors
    /// Where the engine has ended, or the job is forgotten.
    pub async fn report(&self) -> Result<JobReport, EngineError> {
        Ok(JobReport::new(&self.details().await?, &self.handle.all_workers().await?))
    }

    /// Cancels what has not ended.
    ///
    /// # Errors
    /// Where the engine has ended.
    pub async fn cancel(&self) -> Result<CancelOutcome, EngineError> {
        match self.handle.call(ClientRequest::CancelJobs { jobs: self.id.into(), reason: None }).await? {
            ClientReply::Canceled(mut outcomes) => {
                Ok(outcomes.pop().map_or(CancelOutcome::NotFound, |(_, outcome)| outcome))
            }
            other => Err(EngineError::Unexpected(Box::new(other))),
        }
    }

    /// What happens to the job, from its submit to its end.
    ///
    /// # Errors
    /// Where the engine has ended.
    pub async fn events(&self) -> Result<JobEvents, EngineError> {
        let events = EventStream::subscribe(self.handle.clone(), self.since, Some(vec![self.id])).await?;
        Ok(JobEvents { job: self.clone(), events, has_ended: false })
    }
}

impl IntoFuture for JobHandle {
    type Output = Result<JobResult, EngineError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.wait().await })
    }
}

/// The events of one job; the last one tells that it has ended.
#[derive(Debug)]
pub struct JobEvents {
    job: JobHandle,
    events: EventStream,
    has_ended: bool,
}

impl JobEvents {
    /// The next event; `None` after the job's end, or the engine's.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<Event> {
        while !self.has_ended {
            match self.events.next_item().await? {
                Item::Event(event) => {
                    self.has_ended = matches!(event.kind, EventKind::JobCompleted { .. });
                    return Some(*event);
                }
                // What was left out may have been the end.
                Item::Gap => {
                    self.has_ended = self.job.info().await.map_or(true, |info| !info.is_open && info.ended.is_some());
                }
            }
        }
        None
    }
}

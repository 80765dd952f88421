use std::sync::Arc;

use hq_client::{CallError, Client, Details, EventStream, OutputStream};
use hq_core::{
    ClientReply, ClientRequest, DetailPart, Explanation, IdList, JobDetail, JobId, JobInfo, JobTarget, Selector, Seq,
    Submit, TaskNumber, WorkerInfo,
};
use tracing::warn;

/// The connection to a server.
#[derive(Debug)]
pub(crate) struct Server(Arc<Client>);

impl Server {
    /// The server that this client is connected to.
    pub(crate) const fn over(client: Arc<Client>) -> Self {
        Self(client)
    }

    /// Asks and waits for the answer.
    ///
    /// # Errors
    /// A refusal is an error too.
    ///
    /// # Cancel safety
    /// Dropped, nobody waits for the answer any more; what was asked for may have been done.
    pub(crate) async fn call(&self, request: ClientRequest) -> Result<ClientReply, CallError> {
        self.0.call(request).await
    }

    /// Waits for something that has happened too when the server goes away.
    ///
    /// # Errors
    /// As [`Server::call`], but not for a lost connection.
    pub(crate) async fn wait(&self, request: ClientRequest) -> Result<(), CallError> {
        match self.call(request).await {
            Ok(ClientReply::Done) | Err(CallError::Lost(_)) => Ok(()),
            Ok(other) => Err(unexpected(other)),
            Err(error) => Err(error),
        }
    }

    /// Listens to what programs of a job print.
    ///
    /// # Errors
    /// Where the link is gone; a refusal comes with the first item.
    pub(crate) async fn listen(&self, job: JobId) -> Result<OutputStream, CallError> {
        self.0.listen(job).await
    }

    /// Submits, in as many messages as it takes: all of it or nothing.
    ///
    /// # Errors
    /// As [`Server::call`].
    pub(crate) async fn submit_all(&self, job: JobTarget, submits: Vec<Submit>) -> Result<JobId, CallError> {
        self.0.submit_all(job, submits).await
    }

    /// Submits, and listens from the beginning.
    ///
    /// # Errors
    /// As [`Server::call`].
    pub(crate) async fn submit_listening(&self, submit: Submit) -> Result<(JobId, OutputStream), CallError> {
        self.0.submit_listening(submit).await
    }

    /// Lines of jobs, by id.
    pub(crate) async fn jobs(&self, jobs: Selector) -> Result<Vec<JobInfo>, CallError> {
        self.0.jobs(jobs).await
    }

    /// Jobs with all they are made of, by id and piece by piece.
    pub(crate) fn details(&self, jobs: Selector, part: DetailPart) -> Details<'_> {
        self.0.details(jobs, part)
    }

    /// The same of one job.
    pub(crate) fn job_details(&self, job: JobId, part: DetailPart) -> Details<'_> {
        self.0.details(Selector::Ids(IdList::range(job.0, 1)), part)
    }

    /// The one job that is selected in one piece, if it is there.
    pub(crate) async fn whole_job(&self, job: Selector, bodies: bool) -> Result<Option<JobDetail>, CallError> {
        Ok(self.0.whole_details(job, bodies).await?.into_iter().next())
    }

    /// All jobs in one piece.
    pub(crate) async fn whole_jobs(&self) -> Result<Vec<JobDetail>, CallError> {
        self.0.whole_details(Selector::All, false).await
    }

    /// The one job that is selected, if it is there.
    pub(crate) async fn find_job(&self, job: &Selector) -> Result<Option<JobId>, CallError> {
        Ok(self.jobs(job.clone()).await?.first().map(|job| job.id))
    }

    /// Why a task that has not ended is where it is.
    pub(crate) async fn explain(&self, job: JobId, task: TaskNumber) -> Result<Explanation, CallError> {
        self.0.explain(job, task).await
    }

    /// Events from number `from` on, or from now on; of these jobs, or of all that happens.
    pub(crate) async fn subscribe(
        &self,
        from: Option<Seq>,
        jobs: Option<Vec<JobId>>,
    ) -> Result<EventStream, CallError> {
        self.0.subscribe(from, jobs).await
    }

    /// Workers, by id.
    pub(crate) async fn workers(&self, workers: Selector) -> Result<Vec<WorkerInfo>, CallError> {
        self.0.workers(workers).await
    }
}

/// An answer of a kind that does not belong to the request.
pub(crate) fn unexpected(reply: ClientReply) -> CallError {
    CallError::Unexpected(Box::new(reply))
}

/// Ids and numbers that do not exist are named one by one up to that many.
pub(crate) const MISSING_MAX: usize = 100;

/// The ids that were selected one by one and are not among `found`, which is sorted: the first of them, and a warning where there
/// are many more.
pub(crate) fn missing(selector: &Selector, found: &[u32]) -> Vec<u32> {
    let Selector::Ids(ids) = selector else { return vec![] };
    let known = IdList::from_numbers(found.iter().copied()).unwrap_or_default();
    let (missing, count) = known.missing(ids, MISSING_MAX);
    if count > missing.len() as u64 {
        warn!("{count} of the selected ids do not exist; only the first {} are named", missing.len());
    }
    missing
}

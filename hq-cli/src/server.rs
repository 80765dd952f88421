use std::sync::Arc;

use hq_client::{CallError, Client, EventStream, OutputStream};
use hq_core::{
    ClientReply, ClientRequest, Explanation, JobDetail, JobId, JobInfo, Selector, Seq, Submit, TaskNumber, WorkerInfo,
};

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

    /// Submits, and listens from the beginning.
    ///
    /// # Errors
    /// As [`Server::call`].
    pub(crate) async fn submit_listening(&self, submit: Submit) -> Result<(JobId, OutputStream), CallError> {
        self.0.submit_listening(submit).await
    }

    /// Lines of jobs, by id.
    pub(crate) async fn jobs(&self, jobs: Selector) -> Result<Vec<JobInfo>, CallError> {
        match self.call(ClientRequest::Jobs(jobs)).await? {
            ClientReply::Jobs(jobs) => Ok(jobs),
            other => Err(unexpected(other)),
        }
    }

    /// Jobs with all they are made of, by id.
    pub(crate) async fn job_details(&self, jobs: Selector, bodies: bool) -> Result<Vec<JobDetail>, CallError> {
        match self.call(ClientRequest::JobDetails { jobs, bodies }).await? {
            ClientReply::JobDetails(jobs) => Ok(jobs),
            other => Err(unexpected(other)),
        }
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
        match self.call(ClientRequest::Workers(workers)).await? {
            ClientReply::Workers(workers) => Ok(workers),
            other => Err(unexpected(other)),
        }
    }
}

/// An answer of a kind that does not belong to the request.
pub(crate) fn unexpected(reply: ClientReply) -> CallError {
    CallError::Unexpected(Box::new(reply))
}

/// The ids that were selected one by one and are not among `found`, which is sorted.
pub(crate) fn missing<'a>(selector: &'a Selector, found: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
    let ids = match selector {
        Selector::Ids(ids) => Some(ids),
        Selector::Last | Selector::All => None,
    };
    ids.into_iter().flat_map(|ids| ids.iter()).filter(|id| found.binary_search(id).is_err())
}

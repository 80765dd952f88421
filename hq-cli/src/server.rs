use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use hq_client::{CallError, Client, EventStream, OutputStream};
use hq_core::{
    ClientReply, ClientRequest, Explanation, IdList, JobDetail, JobId, JobInfo, Selector, Seq, Submit, TaskNumber,
    WorkerInfo,
};

use crate::way_back::{Resume, WayBack};

/// The connection to a server.
#[derive(Debug)]
pub(crate) struct Server {
    /// Another one after each return.
    client: Mutex<Arc<Client>>,
    way_back: Option<WayBack>,
}

impl Server {
    /// The server that this client is connected to.
    pub(crate) const fn over(client: Arc<Client>) -> Self {
        Self { client: Mutex::new(client), way_back: None }
    }

    /// The same; with a timeout it is looked for when it goes away.
    ///
    /// # Errors
    /// As [`Server::call`].
    pub(crate) async fn resuming(mut self, resume: Resume, server_dir: &Path) -> Result<Self, CallError> {
        if let Some(timeout) = resume.timeout() {
            let uid = self.client().server_info().await?.server_uid;
            self.way_back = Some(WayBack::new(server_dir.to_owned(), uid, timeout));
        }
        Ok(self)
    }

    fn client(&self) -> Arc<Client> {
        Arc::clone(&self.client.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The server went away: returns when it is there again. False where nobody looks for it.
    ///
    /// # Errors
    /// If it does not come back in time, or another one is there.
    pub(crate) async fn come_back(&self) -> anyhow::Result<bool> {
        let Some(way_back) = &self.way_back else { return Ok(false) };
        let client = Arc::new(way_back.find().await?);
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = client;
        Ok(true)
    }

    /// The same jobs by their ids, where `last` and `all` may be others once the server has come back.
    pub(crate) async fn settle(&self, jobs: Selector) -> Result<Selector, CallError> {
        if self.way_back.is_none() || matches!(jobs, Selector::Ids(_)) {
            return Ok(jobs);
        }
        let ids = self.jobs(jobs).await?.into_iter().map(|job| job.id.0);
        Ok(Selector::Ids(IdList::from_numbers(ids).unwrap_or_default()))
    }

    /// Asks and waits for the answer.
    ///
    /// # Errors
    /// A refusal is an error too.
    ///
    /// # Cancel safety
    /// Dropped, nobody waits for the answer any more; what was asked for may have been done.
    pub(crate) async fn call(&self, request: ClientRequest) -> Result<ClientReply, CallError> {
        self.client().call(request).await
    }

    /// Waits for something that has happened too when the server goes away, unless it is to be looked for: then the wait
    /// goes on with the server that comes back.
    ///
    /// # Errors
    /// As [`Server::call`], but not for a lost connection; and as [`Server::come_back`].
    pub(crate) async fn wait(&self, request: ClientRequest) -> anyhow::Result<()> {
        loop {
            match self.call(request.clone()).await {
                Ok(ClientReply::Done) => return Ok(()),
                Ok(other) => return Err(unexpected(other).into()),
                Err(CallError::Lost(_)) if self.come_back().await? => {}
                Err(CallError::Lost(_)) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Listens to what programs of a job print.
    ///
    /// # Errors
    /// Where the link is gone; a refusal comes with the first item.
    pub(crate) async fn listen(&self, job: JobId) -> Result<OutputStream, CallError> {
        self.client().listen(job).await
    }

    /// Submits, and listens from the beginning.
    ///
    /// # Errors
    /// As [`Server::call`].
    pub(crate) async fn submit_listening(&self, submit: Submit) -> Result<(JobId, OutputStream), CallError> {
        self.client().submit_listening(submit).await
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
        self.client().explain(job, task).await
    }

    /// Events from number `from` on, or from now on; of these jobs, or of all that happens.
    pub(crate) async fn subscribe(
        &self,
        from: Option<Seq>,
        jobs: Option<Vec<JobId>>,
    ) -> Result<EventStream, CallError> {
        self.client().subscribe(from, jobs).await
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

use std::{
    path::Path,
    sync::{Arc, OnceLock},
};

use hq_client::{CallError, Client, Details, EventStream, OutputStream};
use hq_core::{
    ClientReply, ClientRequest, DetailPart, Explanation, IdList, JobDetail, JobId, JobInfo, JobTarget, Selector, Seq,
    Submit, TaskNumber, WorkerInfo,
};
use tokio::sync::Mutex;
use tracing::warn;

use crate::way_back::{Resume, WayBack};

/// The connection to a server.
#[derive(Debug)]
pub(crate) struct Server {
    first: Connection,
    way_back: Option<WayBack>,
    /// Held by who looks for a server that went away: there are several who wait, and one connection.
    looking: Mutex<()>,
}

/// A connection, and the one that was made when it was lost.
#[derive(Debug)]
struct Connection {
    client: Arc<Client>,
    next: OnceLock<Box<Self>>,
}

impl Connection {
    const fn new(client: Arc<Client>) -> Self {
        Self { client, next: OnceLock::new() }
    }

    fn last(&self) -> &Self {
        let mut last = self;
        while let Some(next) = last.next.get() {
            last = next;
        }
        last
    }
}

impl Server {
    /// The server that this client is connected to.
    pub(crate) fn over(client: Arc<Client>) -> Self {
        Self { first: Connection::new(client), way_back: None, looking: Mutex::new(()) }
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

    fn client(&self) -> &Client {
        &self.first.last().client
    }

    /// The server went away: returns when it is there again. False where nobody looks for it.
    ///
    /// # Errors
    /// If it does not come back in time, or another one is there.
    pub(crate) async fn come_back(&self) -> anyhow::Result<bool> {
        let Some(way_back) = &self.way_back else { return Ok(false) };
        let _looking = self.looking.lock().await;
        let last = self.first.last();
        // Somebody else may have found it meanwhile.
        if last.client.is_lost() {
            let client = Arc::new(way_back.find().await?);
            // Nobody else can have set it.
            let _ = last.next.set(Box::new(Connection::new(client)));
        }
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

    /// Submits, in as many messages as it takes: all of it or nothing.
    ///
    /// # Errors
    /// As [`Server::call`].
    pub(crate) async fn submit_all(&self, job: JobTarget, submits: Vec<Submit>) -> Result<JobId, CallError> {
        self.client().submit_all(job, submits).await
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
        self.client().jobs(jobs).await
    }

    /// Jobs with all they are made of, by id and piece by piece.
    pub(crate) fn details(&self, jobs: Selector, part: DetailPart) -> Details<'_> {
        self.client().details(jobs, part)
    }

    /// The same of one job.
    pub(crate) fn job_details(&self, job: JobId, part: DetailPart) -> Details<'_> {
        self.client().details(job.into(), part)
    }

    /// The one job that is selected in one piece, if it is there.
    pub(crate) async fn whole_job(&self, job: Selector, bodies: bool) -> Result<Option<JobDetail>, CallError> {
        Ok(self.client().whole_details(job, bodies).await?.into_iter().next())
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
        self.client().workers(workers).await
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

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use hq_core::{
    ClientReply, ClientRequest, Explanation, JobId, QueueInfo, QueueSpec, RequestId, Selector, Seq, ServerInfo,
    TaskNumber, WorkerId, WorkerInfo,
};
use hq_transport::{Link, Role};
use tokio::sync::{mpsc, oneshot};

use crate::{
    EngineError, EventStream, Job, JobHandle, LocalWorker, StartError,
    closures::Closures,
    driver::{Answer, Answered, Input, Signals},
    local_worker::Place,
};

/// A way into an engine, to be cloned and kept anywhere. It does not keep the engine alive.
#[derive(Clone)]
pub struct EngineHandle {
    inputs: mpsc::Sender<Input>,
    signals: Arc<Signals>,
    last: Arc<AtomicU64>,
    place: Arc<Place>,
}

impl EngineHandle {
    pub(crate) fn new(inputs: mpsc::Sender<Input>, signals: Arc<Signals>, place: Arc<Place>) -> Self {
        Self { inputs, signals, last: Arc::default(), place }
    }

    /// Hands a job over. When it returns, the job is durable if the engine has a journal.
    ///
    /// # Errors
    /// Nothing has changed then.
    ///
    /// # Cancel safety
    /// Dropped, the job may have been taken or not.
    pub async fn submit(&self, job: impl Into<Job>) -> Result<JobHandle, EngineError> {
        job.into().hand_over(self).await
    }

    /// A handle for a job that is there already, e.g. after a restart. Its [events](JobHandle::events) are those from
    /// now on.
    pub fn job(&self, job: JobId) -> JobHandle {
        JobHandle::new(job, None, self.clone())
    }

    /// Asks what a client may ask. [`Subscribe`](ClientRequest::Subscribe) has a method of its own:
    /// [`events`](Self::events).
    ///
    /// # Errors
    /// A refusal is an error, too.
    ///
    /// # Cancel safety
    /// Dropped, what was asked for may have been done or not.
    pub async fn call(&self, request: ClientRequest) -> Result<ClientReply, EngineError> {
        self.call_since(request).await.map(|(reply, _)| reply)
    }

    /// The same with the number of the next event when the request came in.
    pub(crate) async fn call_since(&self, request: ClientRequest) -> Result<(ClientReply, Seq), EngineError> {
        let (sender, answer) = oneshot::channel();
        let id = self.ask(request, Answer::Once(sender)).await?;
        let waiting = Waiting { handle: self, id };
        let answered = answer.await;
        std::mem::forget(waiting);
        match answered.map_err(|_| EngineError::Ended)? {
            Answered { reply: ClientReply::Refused(refusal), .. } => Err(refusal.into()),
            Answered { reply, since } => Ok((reply, since)),
        }
    }

    /// A queue of the embedder's own: the one of an earlier life where it is the same, else a new one in its place.
    pub(crate) async fn have_queue(&self, spec: QueueSpec) -> Result<(), EngineError> {
        let ClientReply::Queues(queues) = self.call(ClientRequest::Queues).await? else { return Ok(()) };
        let (same, others): (Vec<QueueInfo>, Vec<QueueInfo>) = queues
            .into_iter()
            .filter(|queue| queue.spec.backend == spec.backend)
            .partition(|queue| *queue.spec == spec);
        for queue in others {
            self.call(ClientRequest::RemoveQueue { queue: queue.id, force: true }).await?;
        }
        if same.is_empty() {
            self.call(ClientRequest::AddQueue { spec: Box::new(spec), trial: false }).await?;
        }
        Ok(())
    }

    /// All that happens from now on.
    ///
    /// # Errors
    /// Where the engine has ended.
    pub async fn events(&self) -> Result<EventStream, EngineError> {
        EventStream::subscribe(self.clone(), None, None).await
    }

    /// All workers that are there, by id.
    ///
    /// # Errors
    /// Where the engine has ended.
    pub async fn workers(&self) -> Result<Vec<WorkerInfo>, EngineError> {
        let mut workers = self.all_workers().await?;
        workers.retain(|worker| worker.ended.is_none());
        Ok(workers)
    }

    /// Also those that have ended.
    pub(crate) async fn all_workers(&self) -> Result<Vec<WorkerInfo>, EngineError> {
        let (mut selector, mut workers) = (Selector::All, vec![]);
        loop {
            let page = match self.call(ClientRequest::Workers(selector.clone())).await? {
                ClientReply::Workers(page) => page,
                other => return Err(EngineError::Unexpected(Box::new(other))),
            };
            workers.extend(page.items);
            let Some(next) = page.next else { return Ok(workers) };
            selector = selector.from(next);
        }
    }

    /// Why a task that has not ended is where it is: what it waits for, and what of each worker it could use.
    ///
    /// # Errors
    /// Where there is no such task, where it has ended, or where the engine has.
    pub async fn explain(&self, job: JobId, task: TaskNumber) -> Result<Explanation, EngineError> {
        match self.call(ClientRequest::Explain { job, task }).await? {
            ClientReply::Explained(explanation) => Ok(*explanation),
            other => Err(EngineError::Unexpected(Box::new(other))),
        }
    }

    /// Starts a worker in this process; returns before it has arrived.
    ///
    /// # Errors
    /// Its resources cannot be read, or the engine has ended.
    pub async fn add_worker(&self, worker: LocalWorker) -> Result<(), StartError> {
        let task = worker.task(&self.place)?;
        self.inputs.send(Input::Worker(task)).await.map_err(|_| EngineError::Ended)?;
        Ok(())
    }

    /// Stops a worker; its tasks go elsewhere.
    ///
    /// # Errors
    /// Where the engine has ended.
    pub async fn stop_worker(&self, worker: WorkerId) -> Result<(), EngineError> {
        self.call(ClientRequest::StopWorkers(worker.into())).await.map(|_| ())
    }

    /// Takes in a peer that has come over a link of any kind; its role must have been checked.
    ///
    /// # Errors
    /// Where the engine has ended.
    pub async fn attach(&self, link: Link, role: Role) -> Result<(), EngineError> {
        self.inputs.send(Input::Attach { link, role }).await.map_err(|_| EngineError::Ended)
    }

    /// About the engine as a server.
    ///
    /// # Errors
    /// Where the engine has ended.
    pub async fn info(&self) -> Result<ServerInfo, EngineError> {
        match self.call(ClientRequest::ServerInfo).await? {
            ClientReply::Server(info) => Ok(*info),
            other => Err(EngineError::Unexpected(Box::new(other))),
        }
    }

    pub(crate) fn closures(&self) -> &Arc<Closures> {
        &self.place.closures
    }

    pub(crate) async fn send(&self, input: Input) -> Result<(), EngineError> {
        self.inputs.send(input).await.map_err(|_| EngineError::Ended)
    }

    pub(crate) async fn ask(&self, request: ClientRequest, answer: Answer) -> Result<RequestId, EngineError> {
        let id = RequestId(self.last.fetch_add(1, Ordering::Relaxed) + 1);
        self.send(Input::Ask { id, request, answer }).await?;
        Ok(id)
    }

    /// Nobody waits for that reply any more. Where the queue is full it is found out by the reply.
    pub(crate) fn abandon(&self, id: RequestId) {
        let request = ClientRequest::Abandon(id);
        let _ = self.inputs.try_send(Input::Ask { id: RequestId(0), request, answer: Answer::Nobody });
    }

    /// Tells the engine to end.
    pub(crate) fn interrupt(&self) {
        self.signals.interrupt();
    }
}

/// Abandons a call that is dropped before its answer.
struct Waiting<'a> {
    handle: &'a EngineHandle,
    id: RequestId,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.handle.abandon(self.id);
    }
}

impl fmt::Debug for EngineHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineHandle").finish_non_exhaustive()
    }
}

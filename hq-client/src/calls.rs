use hq_core::{ClientReply, ClientRequest, Explanation, JobId, JobTarget, Selector, ServerInfo, Submit, TaskNumber};

use crate::{CallError, Client};

/// Bytes of tasks in one message.
pub(crate) const PIECE_MAX: usize = 32 << 20;

/// The usual calls, with their own kinds of answers.
impl Client {
    /// Hands tasks over; says their job. When it returns they are durable.
    ///
    /// # Errors
    /// Refused, nothing has changed.
    pub async fn submit(&self, submit: Submit) -> Result<JobId, CallError> {
        match self.call(ClientRequest::Submit(Box::new(submit))).await? {
            ClientReply::Submitted { job } => Ok(job),
            other => Err(unexpected(other)),
        }
    }

    /// Hands tasks over that may be too large for one message, as one job: all of them, or none where this is cut short.
    ///
    /// # Errors
    /// Refused, nothing has changed.
    pub async fn submit_all(&self, job: JobTarget, mut submits: Vec<Submit>) -> Result<JobId, CallError> {
        if let [one] = &mut submits[..]
            && one.weight() <= PIECE_MAX
        {
            one.job = job;
            return self.submit(submits.remove(0)).await;
        }
        self.stage(submits).await?;
        match self.call(ClientRequest::SubmitStaged { job, credit: None }).await? {
            ClientReply::Submitted { job } => Ok(job),
            other => Err(unexpected(other)),
        }
    }

    /// Hands tasks over that are submitted later.
    pub(crate) async fn stage(&self, submits: Vec<Submit>) -> Result<(), CallError> {
        for piece in submits.into_iter().flat_map(|submit| submit.split(PIECE_MAX)) {
            match self.call(ClientRequest::Stage(Box::new(piece))).await? {
                ClientReply::Done => {}
                other => return Err(unexpected(other)),
            }
        }
        Ok(())
    }

    /// Waits until these jobs have ended, with `until_closed` also until open ones are closed.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn wait(&self, jobs: Selector, until_closed: bool) -> Result<(), CallError> {
        match self.call(ClientRequest::WaitJobs { jobs, until_closed }).await? {
            ClientReply::Done => Ok(()),
            other => Err(unexpected(other)),
        }
    }

    /// Why a task that has not ended is where it is.
    ///
    /// # Errors
    /// Refused where there is no such task, or where it has ended; see [`CallError`].
    pub async fn explain(&self, job: JobId, task: TaskNumber) -> Result<Explanation, CallError> {
        match self.call(ClientRequest::Explain { job, task }).await? {
            ClientReply::Explained(explanation) => Ok(*explanation),
            other => Err(unexpected(other)),
        }
    }

    /// About the server.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn server_info(&self) -> Result<ServerInfo, CallError> {
        match self.call(ClientRequest::ServerInfo).await? {
            ClientReply::Server(info) => Ok(*info),
            other => Err(unexpected(other)),
        }
    }
}

pub(crate) fn unexpected(reply: ClientReply) -> CallError {
    CallError::Unexpected(Box::new(reply))
}

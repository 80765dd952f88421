use hq_core::{ClientReply, ClientRequest, Explanation, JobId, JobInfo, Selector, ServerInfo, Submit, TaskNumber};

use crate::{CallError, Client};

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

    /// These jobs, by id.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn jobs(&self, jobs: Selector) -> Result<Vec<JobInfo>, CallError> {
        match self.call(ClientRequest::Jobs(jobs)).await? {
            ClientReply::Jobs(jobs) => Ok(jobs),
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

fn unexpected(reply: ClientReply) -> CallError {
    CallError::Unexpected(Box::new(reply))
}

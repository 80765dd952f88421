use hq_client::{CallError, OutputStream};
use hq_core::{JobId, Refusal, TaskOutput};

use crate::server::Server;

/// What programs of a job print, from one server and from those that follow it.
#[derive(Debug)]
pub(crate) struct Listening<'a> {
    server: &'a Server,
    job: JobId,
    stream: OutputStream,
    has_come_back: bool,
}

/// What was heard.
#[derive(Debug)]
pub(crate) enum Heard {
    /// This was printed.
    Outputs(Vec<TaskOutput>),
    /// The job has ended.
    End,
    /// The server went away; see [`Listening::resume`].
    Gone,
}

impl<'a> Listening<'a> {
    /// Goes on with a stream of that server.
    pub(crate) const fn new(server: &'a Server, job: JobId, stream: OutputStream) -> Self {
        Self { server, job, stream, has_come_back: false }
    }

    /// What comes next.
    ///
    /// # Errors
    /// As [`Server::listen`].
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub(crate) async fn next(&mut self) -> Result<Heard, CallError> {
        match self.stream.next().await {
            Some(Ok(outputs)) => Ok(Heard::Outputs(outputs)),
            None => Ok(Heard::End),
            Some(Err(CallError::Lost(_))) => Ok(Heard::Gone),
            // A server that comes back knows only jobs that are not over.
            Some(Err(CallError::Refused(Refusal::NoJob(_)))) if self.has_come_back => Ok(Heard::End),
            Some(Err(error)) => Err(error),
        }
    }

    /// After [`Heard::Gone`]: listens to the server that comes back. False where none is looked for.
    ///
    /// # Errors
    /// As [`Server::come_back`].
    pub(crate) async fn resume(&mut self) -> anyhow::Result<bool> {
        while self.server.come_back().await? {
            match self.server.listen(self.job).await {
                Ok(stream) => {
                    (self.stream, self.has_come_back) = (stream, true);
                    return Ok(true);
                }
                // It went away once more.
                Err(CallError::Lost(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }
}

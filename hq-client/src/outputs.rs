use hq_core::{ClientReply, ClientRequest, JobId, Submit, TaskOutput};

use crate::{
    CallError, Client,
    calls::{PIECE_MAX, unexpected},
    credit::Credited,
};

/// Chunks that may be on their way: 1 MiB.
const CREDIT: u32 = 64;

/// What programs of a job print, as they print it. Dropped, nobody listens any more.
///
/// A stream that is not read makes programs wait that print to nowhere else ([`Stdio::Live`](hq_core::Stdio::Live)). Of
/// programs whose output goes into files as well, what comes meanwhile is left out: offsets tell where.
#[derive(Debug)]
pub struct OutputStream(Credited);

impl Client {
    /// Listens to what programs of a job print from now on, until the job has ended and is closed.
    ///
    /// # Errors
    /// Where the link is gone. A refusal comes as the stream's first item.
    pub async fn listen(&self, job: JobId) -> Result<OutputStream, CallError> {
        Ok(OutputStream(self.credited(ClientRequest::Listen { job, credit: CREDIT }, CREDIT).await?))
    }

    /// Submits tasks and listens to what their job prints, from its beginning.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn submit_listening(&self, submit: Submit) -> Result<(JobId, OutputStream), CallError> {
        let request = if submit.weight() > PIECE_MAX {
            let job = submit.job.clone();
            self.stage(vec![submit]).await?;
            ClientRequest::SubmitStaged { job, credit: Some(CREDIT) }
        } else {
            ClientRequest::SubmitListening { submit: Box::new(submit), credit: CREDIT }
        };
        let mut stream = self.credited(request, CREDIT).await?;
        match stream.next().await {
            Some(Ok(ClientReply::Submitted { job })) => Ok((job, OutputStream(stream))),
            Some(Ok(other)) => Err(unexpected(other)),
            Some(Err(error)) => Err(error),
            None => Err(crate::client::lost()),
        }
    }
}

impl OutputStream {
    /// The next chunks, at least one; `None` once the job has ended.
    ///
    /// # Errors
    /// The last item: why nothing more is heard.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<Result<Vec<TaskOutput>, CallError>> {
        Some(match self.0.next().await? {
            Ok(ClientReply::Outputs(outputs)) => Ok(outputs),
            Ok(ClientReply::Done) => return None,
            Ok(other) => Err(unexpected(other)),
            Err(error) => Err(error),
        })
    }
}

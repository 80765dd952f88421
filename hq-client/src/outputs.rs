use hq_core::{Call, ClientReply, ClientRequest, JobId, RequestId, Submit, TaskOutput};
use tokio::sync::mpsc;

use crate::{CallError, Client, calls::PIECE_MAX, client::abandon, router::Router};

/// Chunks that may be on their way: 1 MiB.
const CREDIT: u32 = 64;

/// What programs of a job print, as they print it. Dropped, nobody listens any more.
///
/// A stream that is not read makes programs wait that print to nowhere else ([`Stdio::Live`](hq_core::Stdio::Live)). Of
/// programs whose output goes into files as well, what comes meanwhile is left out: offsets tell where.
#[derive(Debug)]
pub struct OutputStream {
    call: RequestId,
    replies: mpsc::Receiver<Result<ClientReply, CallError>>,
    calls: mpsc::Sender<Call>,
    router: Router,
    /// Chunks taken and not yet given credit for.
    owed: u32,
}

impl Client {
    /// Listens to what programs of a job print from now on, until the job has ended and is closed.
    ///
    /// # Errors
    /// Where the link is gone. A refusal comes as the stream's first item.
    pub async fn listen(&self, job: JobId) -> Result<OutputStream, CallError> {
        self.outputs(ClientRequest::Listen { job, credit: CREDIT }).await
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
        let mut stream = self.outputs(request).await?;
        match stream.replies.recv().await {
            Some(Ok(ClientReply::Submitted { job })) => Ok((job, stream)),
            Some(Ok(other)) => Err(CallError::Unexpected(Box::new(other))),
            Some(Err(error)) => Err(error),
            None => Err(crate::client::lost()),
        }
    }

    async fn outputs(&self, request: ClientRequest) -> Result<OutputStream, CallError> {
        let (call, replies) = self.router.expect_outputs(CREDIT)?;
        let stream = OutputStream { call, replies, calls: self.calls.clone(), router: self.router.clone(), owed: 0 };
        self.send(Call { id: call, request }).await?;
        Ok(stream)
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
        // Credit is given when the chunks before have been dealt with. A link that is gone shows at the receipt.
        if self.owed > 0 {
            let request = ClientRequest::Credit { subscription: self.call, batches: self.owed };
            let _ = self.calls.send(Call { id: RequestId(0), request }).await;
            self.owed = 0;
        }
        Some(match self.replies.recv().await? {
            Ok(ClientReply::Outputs(outputs)) => {
                self.owed = u32::try_from(outputs.len()).unwrap_or(u32::MAX);
                Ok(outputs)
            }
            Ok(ClientReply::Done) => return None,
            Ok(other) => Err(CallError::Unexpected(Box::new(other))),
            Err(error) => Err(error),
        })
    }
}

impl Drop for OutputStream {
    fn drop(&mut self) {
        if self.router.forget(self.call) {
            abandon(&self.calls, self.call);
        }
    }
}

use hq_core::{Call, ClientReply, ClientRequest, RequestId};
use tokio::sync::mpsc;

use crate::{CallError, Client, client::abandon, router::Router};

/// Replies that come again and again to one call, as many as there is credit for. Dropped, the call is abandoned.
#[derive(Debug)]
pub(crate) struct Credited {
    call: RequestId,
    replies: mpsc::Receiver<Result<ClientReply, CallError>>,
    calls: mpsc::Sender<Call>,
    router: Router,
    /// What was taken and not yet given credit for.
    owed: u32,
}

impl Client {
    /// Makes a call that is answered again and again; `request` gives it `credit`.
    pub(crate) async fn credited(&self, request: ClientRequest, credit: u32) -> Result<Credited, CallError> {
        let (call, replies) = self.router.expect_stream(credit)?;
        let stream = Credited { call, replies, calls: self.calls.clone(), router: self.router.clone(), owed: 0 };
        self.send(Call { id: call, request }).await?;
        Ok(stream)
    }
}

impl Credited {
    /// The next reply; `None` after the last.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<Result<ClientReply, CallError>> {
        // Credit is given when the replies before have been dealt with. A link that is gone shows at the receipt.
        if self.owed > 0 {
            let request = ClientRequest::Credit { subscription: self.call, batches: self.owed };
            let _ = self.calls.send(Call { id: RequestId(0), request }).await;
            self.owed = 0;
        }
        let reply = self.replies.recv().await?;
        self.owed = match &reply {
            Ok(ClientReply::Events(_)) => 1,
            Ok(ClientReply::Outputs(outputs)) => u32::try_from(outputs.len()).unwrap_or(u32::MAX),
            _ => 0,
        };
        Some(reply)
    }
}

impl Drop for Credited {
    fn drop(&mut self) {
        if self.router.forget(self.call) {
            abandon(&self.calls, self.call);
        }
    }
}

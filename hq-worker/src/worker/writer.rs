use hq_core::FromWorker;
use hq_transport::{LinkError, SendError, TypedSender};
use tokio::sync::mpsc;

/// Sends batches until there are no more, then says good-bye. Ends early when the link is dead.
pub(super) async fn write(mut sender: TypedSender<FromWorker>, mut batches: mpsc::Receiver<Vec<FromWorker>>) {
    while let Some(batch) = batches.recv().await {
        if let Err(error) = send(&mut sender, &batch).await {
            tracing::debug!("the link to the server is gone: {error}");
            return;
        }
    }
    sender.close().await;
}

/// Sends a batch, in halves where it is too large for the link.
async fn send(sender: &mut TypedSender<FromWorker>, batch: &[FromWorker]) -> Result<(), SendError> {
    let mut waiting = vec![batch];
    while let Some(part) = waiting.pop() {
        match sender.send(part).await {
            Err(SendError::Link(LinkError::BatchTooLarge { .. })) if part.len() > 1 => {
                let (first, second) = part.split_at(part.len() / 2);
                waiting.push(second);
                waiting.push(first);
            }
            result => result?,
        }
    }
    Ok(())
}

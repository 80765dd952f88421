use async_trait::async_trait;
use hq_core::{ToWorker, Welcome};
use hq_transport::{LinkError, LinkReceiver, wire};
use tokio::sync::oneshot;

/// Hands batches on as they are, and tells of the server's welcome when it passes by.
pub(super) struct WelcomeWatch {
    inner: Box<dyn LinkReceiver>,
    /// None once the first batch has passed: a welcome is the first word or does not come.
    waiting: Option<oneshot::Sender<Welcome>>,
}

impl WelcomeWatch {
    pub(super) fn new(inner: Box<dyn LinkReceiver>, waiting: oneshot::Sender<Welcome>) -> Self {
        Self { inner, waiting: Some(waiting) }
    }
}

#[async_trait]
impl LinkReceiver for WelcomeWatch {
    async fn recv(&mut self) -> Result<Option<Vec<u8>>, LinkError> {
        let batch = self.inner.recv().await?;
        if let Some(waiting) = self.waiting.take()
            && let Some(bytes) = &batch
            && let Ok(messages) = wire::decode::<Vec<ToWorker>>(bytes)
            && let Some(ToWorker::Welcome(welcome)) = messages.into_iter().next()
        {
            // Nobody waits: the program is about to end.
            let _ = waiting.send(welcome);
        }
        Ok(batch)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use hq_core::{Epoch, WorkerId};

    use super::*;

    struct Batches(VecDeque<Vec<u8>>);

    #[async_trait]
    impl LinkReceiver for Batches {
        async fn recv(&mut self) -> Result<Option<Vec<u8>>, LinkError> {
            Ok(self.0.pop_front())
        }
    }

    fn encoded(messages: &[ToWorker]) -> Vec<u8> {
        let mut batch = Vec::new();
        wire::encode(messages, &mut batch).expect("encodes");
        batch
    }

    fn welcome() -> Welcome {
        Welcome { worker: WorkerId(7), epoch: Epoch(1), token: 0, server_uid: "u".into(), idle_timeout: None }
    }

    #[tokio::test]
    async fn the_welcome_is_told_and_all_is_handed_on() {
        let refused = ToWorker::Refused { reason: "no".into() };
        for (first, expected) in [(ToWorker::Welcome(welcome()), Some(7)), (refused, None)] {
            let batches = [encoded(&[first, ToWorker::Heartbeat]), encoded(&[ToWorker::Heartbeat])];
            let (sender, told) = oneshot::channel();
            let mut watch = WelcomeWatch::new(Box::new(Batches(batches.clone().into())), sender);
            for batch in batches {
                assert_eq!(watch.recv().await.expect("a batch"), Some(batch));
            }
            assert_eq!(told.await.ok().map(|welcome| welcome.worker.0), expected);
        }
    }
}

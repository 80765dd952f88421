use std::{fmt, pin::Pin};

use hq_transport::Link;
use tokio::{task::JoinSet, time::timeout};

/// A worker that runs in this process over the link it is given.
pub(crate) struct WorkerTask(pub(crate) Box<dyn FnOnce(Link) -> Running + Send>);

/// Ends when the worker has.
pub(crate) type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The workers of this process.
#[derive(Default)]
pub(super) struct Workers {
    tasks: JoinSet<()>,
}

/// Time for the workers to end what they run, after they were told to.
const END: std::time::Duration = std::time::Duration::from_secs(10);

impl Workers {
    pub(super) fn spawn(&mut self, WorkerTask(worker): WorkerTask, link: Link) {
        self.tasks.spawn(worker(link));
    }

    /// Forgets what a worker that has ended leaves behind; pends while there is none.
    pub(super) async fn reap(&mut self) {
        if self.tasks.join_next().await.is_none() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until all have ended.
    pub(super) async fn end(mut self) {
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if timeout(END, all).await.is_err() {
            tracing::warn!("some workers of this process did not end and were dropped");
        }
        self.tasks.shutdown().await;
    }
}

impl fmt::Debug for WorkerTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerTask").finish_non_exhaustive()
    }
}

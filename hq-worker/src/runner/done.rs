use std::sync::Arc;

use async_trait::async_trait;
use hq_core::{JobId, Outcome, RunId, RunOutput};

/// Who hears of the ends of runs.
#[async_trait]
pub trait EndSink: Send + Sync {
    /// A run ended. Called from any thread, also from inside [`TaskRunner::start`](crate::TaskRunner::start); must not
    /// block.
    fn ended(&self, run: RunId, outcome: Outcome);

    /// A run says something to those who watch its job. Returns when that is sure to be told before the end of the run
    /// is, if that has not been told yet; who has no ear for it lets it pass.
    async fn notified(&self, _run: RunId, _message: String) {}

    /// A run printed something to a job that somebody listens to; not more often than there was room for. Must not block;
    /// it is told before the end of the run is.
    fn printed(&self, _job: JobId, _output: RunOutput) {}
}

#[async_trait]
impl<F: Fn(RunId, Outcome) + Send + Sync> EndSink for F {
    fn ended(&self, run: RunId, outcome: Outcome) {
        self(run, outcome);
    }
}

/// The duty to say, once, how a run ended.
///
/// A runner that drops it unused, by panic or mistake, has failed the task: no run is ever lost.
pub struct Done {
    run: RunId,
    sink: Option<Arc<dyn EndSink>>,
}

impl Done {
    /// The duty for `run`, told to `sink`.
    pub fn new(run: RunId, sink: Arc<dyn EndSink>) -> Self {
        Self { run, sink: Some(sink) }
    }

    /// Which run it is about.
    pub const fn run(&self) -> RunId {
        self.run
    }

    /// Who hears of the end.
    pub(crate) fn sink(&self) -> Option<Arc<dyn EndSink>> {
        self.sink.clone()
    }

    /// The run ended like that.
    pub fn end(mut self, outcome: Outcome) {
        if let Some(sink) = self.sink.take() {
            sink.ended(self.run, outcome);
        }
    }

    /// The run ended well or with this text for people.
    pub fn end_with(self, result: Result<(), String>) {
        self.end(match result {
            Ok(()) => Outcome::Finished,
            Err(error) => Outcome::Failed(error),
        });
    }
}

impl Drop for Done {
    fn drop(&mut self) {
        if let Some(sink) = self.sink.take() {
            sink.ended(self.run, Outcome::Failed("the runner gave up on the task".to_owned()));
        }
    }
}

impl std::fmt::Debug for Done {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Done").field("run", &self.run).finish_non_exhaustive()
    }
}

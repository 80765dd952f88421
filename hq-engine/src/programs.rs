use std::sync::{Arc, OnceLock};

use hq_core::{Outcome, RunId, WorkerResources};
use hq_node::{StartOrder, StopHow};
use hq_worker::{Done, ProgramOptions, ProgramRunner, TaskRunner};

/// Runs programs; what that takes (threads, a guardian process) comes with the first one, so that an engine that only
/// calls functions has none of it.
pub(crate) struct Programs {
    resources: Arc<WorkerResources>,
    runner: OnceLock<Result<ProgramRunner, String>>,
}

impl Programs {
    pub(crate) const fn new(resources: Arc<WorkerResources>) -> Self {
        Self { resources, runner: OnceLock::new() }
    }
}

impl TaskRunner for Programs {
    fn start(&self, order: StartOrder, done: Done) {
        let runner = self.runner.get_or_init(|| {
            let options = ProgramOptions::new(Arc::clone(&self.resources), "");
            ProgramRunner::new(options).map_err(|e| format!("programs cannot be run: {e}"))
        });
        match runner {
            Ok(runner) => runner.start(order, done),
            Err(reason) => done.end(Outcome::Failed(reason.clone())),
        }
    }

    fn stop(&self, run: RunId, how: StopHow) {
        if let Some(Ok(runner)) = self.runner.get() {
            runner.stop(run, how);
        }
    }
}

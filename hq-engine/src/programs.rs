use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hq_core::{JobId, Outcome, RunId, WorkerResources};
use hq_node::{StartOrder, StopHow};
use hq_worker::{Done, ProgramOptions, ProgramRunner, TaskRunner};

/// Runs programs; what that takes (threads, a guardian process) comes with the first one, so that an engine that only
/// calls functions has none of it.
pub(crate) struct Programs {
    resources: Arc<WorkerResources>,
    runner: OnceLock<Result<ProgramRunner, String>>,
    /// What was said before there was a runner.
    listened: Mutex<Vec<(JobId, Option<u32>)>>,
}

impl Programs {
    pub(crate) const fn new(resources: Arc<WorkerResources>) -> Self {
        Self { resources, runner: OnceLock::new(), listened: Mutex::new(vec![]) }
    }
}

impl Programs {
    fn hand_over(&self, runner: &ProgramRunner) {
        let mut listened = self.listened.lock().unwrap_or_else(PoisonError::into_inner);
        listened.drain(..).for_each(|(job, credit)| runner.listen(job, credit));
    }
}

impl TaskRunner for Programs {
    fn start(&self, order: StartOrder, done: Done) {
        let runner = self.runner.get_or_init(|| {
            let options = ProgramOptions::new(Arc::clone(&self.resources), "");
            ProgramRunner::new(options).map_err(|e| format!("programs cannot be run: {e}"))
        });
        match runner {
            Ok(runner) => {
                self.hand_over(runner);
                runner.start(order, done);
            }
            Err(reason) => done.end(Outcome::Failed(reason.clone())),
        }
    }

    fn stop(&self, run: RunId, how: StopHow) {
        if let Some(Ok(runner)) = self.runner.get() {
            runner.stop(run, how);
        }
    }

    fn listen(&self, job: JobId, credit: Option<u32>) {
        self.listened.lock().unwrap_or_else(PoisonError::into_inner).push((job, credit));
        if let Some(Ok(runner)) = self.runner.get() {
            self.hand_over(runner);
        }
    }
}

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use hq_core::{JobId, Outcome, RunId, WorkerResources};
use hq_node::{StartOrder, StopHow};
use hq_worker::{Done, ProgramOptions, ProgramRunner, TaskRunner};

/// Runs programs; what that takes (threads, a guardian process) comes with the first one, so that an engine that only
/// calls functions has none of it.
pub(crate) struct Programs {
    resources: Arc<WorkerResources>,
    runner: OnceLock<Result<ProgramRunner, String>>,
    /// Sessions and their room, by job, as long as there is no runner.
    listened: Mutex<BTreeMap<JobId, (u64, u32)>>,
}

impl Programs {
    pub(crate) const fn new(resources: Arc<WorkerResources>) -> Self {
        Self { resources, runner: OnceLock::new(), listened: Mutex::new(BTreeMap::new()) }
    }

    /// The runner learns who listens already. After this nothing is put in there any more: the lock is held meanwhile.
    fn hand_over(&self, runner: &ProgramRunner) -> MutexGuard<'_, BTreeMap<JobId, (u64, u32)>> {
        let mut listened = self.listened.lock().unwrap_or_else(PoisonError::into_inner);
        for (job, (session, credit)) in std::mem::take(&mut *listened) {
            runner.listen(job, session, Some(credit));
        }
        listened
    }

    fn keep(&self, job: JobId, session: u64, credit: Option<u32>) {
        let mut listened = self.listened.lock().unwrap_or_else(PoisonError::into_inner);
        match (credit, self.runner.get()) {
            (Some(credit), None) => {
                let (known, sum) = listened.entry(job).or_insert((session, 0));
                *sum = if *known == session { sum.saturating_add(credit) } else { credit };
                *known = session;
            }
            (None, None) => _ = listened.remove(&job),
            // Nothing will ever print.
            (_, Some(Err(_))) => listened.clear(),
            // It has come this moment.
            (_, Some(Ok(runner))) => {
                drop(listened);
                let _in_order = self.hand_over(runner);
                runner.listen(job, session, credit);
            }
        }
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
                drop(self.hand_over(runner));
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

    fn listen(&self, job: JobId, session: u64, credit: Option<u32>) {
        self.keep(job, session, credit);
    }
}

#[cfg(test)]
mod tests {
    use hq_core::WorkerResources;

    use super::*;

    #[test]
    fn what_is_kept_without_a_runner_is_who_listens_now() {
        let programs = Programs::new(Arc::new(WorkerResources::cpus(1).unwrap()));
        let kept = || programs.listened.lock().unwrap().clone();
        for session in 1..1000 {
            programs.listen(JobId(session as u32), session, Some(8));
            programs.listen(JobId(session as u32), session, None);
        }
        assert!(kept().is_empty());
        for (session, credit) in [(1, 8), (1, 1), (2, 8), (2, 1)] {
            programs.listen(JobId(1), session, Some(credit));
        }
        assert_eq!(kept(), BTreeMap::from([(JobId(1), (2, 9))]));
    }
}

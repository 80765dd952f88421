//! What nearly every test says to a core.

#![allow(dead_code, reason = "no test needs all of it")]

use hq_core::{JobSpec, JobTarget, Ordinal, Profile, Submit, TaskIds, Tick, Work, WorkerConfig, WorkerResources};
use hq_scheduler::{Action, Scheduler};

/// A core in its first life.
pub(crate) fn booted() -> Scheduler {
    let mut core = Scheduler::new();
    core.boot(Tick(0), "uid".into(), 0, "1".into());
    core
}

/// A worker that has nothing but cpus.
pub(crate) fn node(cpus: u32) -> WorkerConfig {
    WorkerConfig::new("w", WorkerResources::cpus(cpus).unwrap())
}

/// A job of tasks that are alike.
pub(crate) fn array(tasks: u32, profile: Profile) -> Submit {
    let target = JobTarget::New(JobSpec::default());
    Submit::array(target, TaskIds::Next(tasks), "program", vec![].into(), profile)
}

/// All that is to be done now.
pub(crate) fn drain(core: &mut Scheduler, now: Tick) -> Vec<Action> {
    std::iter::from_fn(|| core.poll_action(now)).collect()
}

/// The tasks that a lane gets, in order.
pub(crate) fn ordinals(work: &[Work]) -> Vec<Ordinal> {
    let runs = work.iter().flat_map(|work| &work.runs);
    runs.flat_map(|run| (0..u64::from(run.numbers.count)).map(|i| run.first.plus(i))).collect()
}

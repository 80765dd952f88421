use std::sync::Arc;

use hq_core::{
    Blob, Ends, EventKind, HardwareState, JobId, Parts, QueueSpec, ResourceKind, Submit, TaskIds, WorkerConfig,
    WorkerId,
};

/// Bytes of a body that are kept of a submit, of what its tasks share as of the first task's own part. What is longer
/// is left out: mostly it is what a program reads, and would drive out all that others wait to hear.
const BODY_MAX: usize = 64 * 1024;

/// What the feed keeps of a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Story {
    /// An event as it is told.
    Told(EventKind),
    /// Ends that are told task by task only when somebody listens: nobody pays for them otherwise.
    Finished {
        /// The worker; of a gang all of them, the main one first.
        workers: Vec<WorkerId>,
        /// The variant granted.
        variant: u8,
        /// The ends.
        ends: Ends,
    },
    /// It was told to all who kept up, and was too much to be kept for others.
    Gone(Whose),
}

/// Whom a story is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// No job.
    Nobodys,
    /// This job.
    Jobs(JobId),
    /// Some jobs.
    Anybodys,
}

impl Story {
    /// Leaves out what is not worth its room.
    pub(super) fn slim(&mut self) {
        let Self::Told(EventKind::JobSubmitted { submit, .. }) = self else { return };
        if submit.shared.len() > BODY_MAX {
            Arc::make_mut(submit).shared = Blob::default();
        }
        if submit.parts.get(0).len() > BODY_MAX {
            Arc::make_mut(submit).parts = Parts::default();
        }
    }

    /// Whom it is about.
    pub(super) fn whose(&self) -> Whose {
        match self {
            Self::Told(event) => event.job().map_or(Whose::Nobodys, Whose::Jobs),
            Self::Finished { .. } => Whose::Anybodys,
            Self::Gone(whose) => *whose,
        }
    }

    /// Roughly the bytes it takes, and not fewer by much.
    pub(super) fn size(&self) -> usize {
        128 + match self {
            Self::Gone(_) => 0,
            Self::Finished { workers, ends, .. } => workers.len() * 4 + ends.tasks.len() * 16 + ends.times.len(),
            Self::Told(event) => match event {
                EventKind::ServerStarted { server_uid } => server_uid.len(),
                EventKind::WorkerConnected { config, .. } => of_config(config),
                EventKind::JobOpened { spec, .. } => spec.name.len(),
                EventKind::JobSubmitted { spec, submit, .. } => {
                    spec.as_ref().map_or(0, |spec| spec.name.len()) + of_submit(submit)
                }
                EventKind::TaskNotify { message, .. } => message.len(),
                EventKind::WorkerOverview { state, .. } => of_overview(state),
                EventKind::JobCanceled { reason, .. } => reason.as_ref().map_or(0, String::len),
                EventKind::TaskFailed { error, run, .. } | EventKind::TaskRetried { error, run, .. } => {
                    error.len() + run.as_ref().map_or(0, |run| run.workers.len() * 4)
                }
                EventKind::TaskStarted { workers, .. } => workers.len() * 4,
                EventKind::TasksFinished { workers, tasks, .. } => workers.len() * 4 + tasks.len() * 24,
                // Runs with their indexes.
                EventKind::TasksCanceled { tasks, .. } | EventKind::TasksAborted { tasks, .. } => {
                    tasks.runs().len() * 24
                }
                EventKind::QueueCreated { spec, .. } => of_queue(spec),
                EventKind::AllocationQueued { allocation, .. }
                | EventKind::AllocationStarted { allocation, .. }
                | EventKind::AllocationFinished { allocation, .. } => allocation.len(),
                EventKind::WorkerLost { .. }
                | EventKind::JobClosed { .. }
                | EventKind::JobCompleted { .. }
                | EventKind::QueueRemoved { .. } => 0,
            },
        }
    }
}

/// A text in a list.
const fn of_text(text: &str) -> usize {
    24 + text.len()
}

fn of_config(config: &WorkerConfig) -> usize {
    let labels = |kind: &ResourceKind| match kind {
        ResourceKind::List(labels) => labels.iter().map(|label| of_text(label)).sum(),
        ResourceKind::Groups(groups) => groups.iter().flatten().map(|label| of_text(label)).sum(),
        ResourceKind::Range { .. } | ResourceKind::Sum(_) => 0,
    };
    let resources = config
        .resources
        .resources()
        .iter()
        .map(|resource| of_text(resource.name.as_str()) + 32 + labels(&resource.kind));
    let allocation = config.allocation.as_ref().map_or(0, |job| job.manager.len() + job.id.len());
    let texts = [&config.hostname, &config.group, &config.work_dir].into_iter().chain(&config.kinds);
    let coupling = config.resources.coupling().len() * 64;
    256 + texts.map(|text| of_text(text)).sum::<usize>() + resources.sum::<usize>() + coupling + allocation
}

fn of_submit(submit: &Submit) -> usize {
    let runs = match &submit.ids {
        TaskIds::Given(ids) => ids.runs().len(),
        TaskIds::Next(_) => 0,
    };
    let requests = submit.profiles.iter().flat_map(|profile| profile.variants.iter());
    let entries: usize = requests.map(|request| 64 + request.entries().len() * 48).sum();
    512 + entries
        + submit.kind.len()
        + submit.shared.len()
        + submit.parts.get(0).len()
        + runs * 24
        + submit.after.len() * 8
}

fn of_queue(spec: &QueueSpec) -> usize {
    let words = spec.worker_args.iter().chain(&spec.submit_args).chain(&spec.command);
    let texts = [&spec.name, &spec.start_command, &spec.stop_command, &spec.wrap_command].into_iter().flatten();
    let offer = spec.offer.iter().flatten().map(|def| of_text(def.name.as_str()) + 64);
    let worker = spec.worker.as_ref().map_or(0, |worker| of_config(worker));
    512 + words.chain(texts).map(|text| of_text(text)).sum::<usize>() + offer.sum::<usize>() + worker
}

fn of_overview(state: &HardwareState) -> usize {
    let gpus = state.nvidia.iter().chain(&state.amd).flatten();
    256 + state.cpus.len() * 2 + gpus.map(|gpu| of_text(&gpu.id) + 8).sum::<usize>()
}

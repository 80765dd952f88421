use std::collections::BTreeMap;

use hq_core::{Event, EventKind, IdList, JobId, JobState, LossReason, TaskCounts, TaskState, WallTime, WorkerId};

use super::runs::{Run, Runs};

/// Parts of the time that are told apart.
pub(super) const PARTS: usize = 240;
/// Failures that are shown.
const FAILURES_MAX: usize = 100;

/// The time that a report is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// From then on.
    pub(crate) start: WallTime,
    /// Until then.
    pub(crate) end: WallTime,
}

/// What a journal comes to. Its size follows jobs and workers, not tasks.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(super) window: Window,
    pub(super) server_uid: String,
    pub(super) jobs: BTreeMap<JobId, JobTally>,
    pub(super) workers: BTreeMap<WorkerId, WorkerTally>,
    /// Microseconds of runs in each part of the window.
    pub(super) busy: Vec<u64>,
    pub(super) runs: u64,
    pub(super) failures: Vec<(JobId, String, String)>,
    open: Runs,
    /// Kept for its memory.
    ended: Vec<Run>,
}

/// A job.
#[derive(Clone, Debug, Default)]
pub(super) struct JobTally {
    pub(super) name: String,
    pub(super) is_open: bool,
    pub(super) counts: TaskCounts,
    pub(super) submitted: Option<WallTime>,
    pub(super) ended: Option<WallTime>,
}

/// A worker.
#[derive(Clone, Debug)]
pub(super) struct WorkerTally {
    pub(super) hostname: String,
    pub(super) from: WallTime,
    pub(super) until: Option<(WallTime, LossReason)>,
    pub(super) runs: u64,
    /// Microseconds of runs in each part of the window.
    pub(super) busy: Vec<u64>,
}

impl JobTally {
    pub(super) fn state(&self) -> JobState {
        JobState::of(&self.counts, self.is_open)
    }

    fn move_tasks(&mut self, count: u64, to: TaskState) {
        self.counts.waiting = self.counts.waiting.saturating_sub(count);
        *self.counts.of_mut(to) += count;
    }
}

impl Tally {
    /// Nothing seen yet.
    pub(crate) fn new(window: Window) -> Self {
        Self {
            window,
            server_uid: String::new(),
            jobs: BTreeMap::new(),
            workers: BTreeMap::new(),
            busy: vec![0; PARTS],
            runs: 0,
            failures: vec![],
            open: Runs::default(),
            ended: vec![],
        }
    }

    /// Takes the next event.
    pub(crate) fn see(&mut self, event: &Event) {
        if event.at > self.window.end {
            return;
        }
        let mut ended = std::mem::take(&mut self.ended);
        self.open.see(event.at, &event.kind, &mut ended);
        ended.drain(..).for_each(|run| self.add(&run));
        self.ended = ended;
        self.count(event);
    }

    /// Nothing more comes.
    pub(crate) fn finish(mut self) -> Self {
        let mut ended = Vec::new();
        std::mem::take(&mut self.open).finish(self.window.end, &mut ended);
        ended.iter().for_each(|run| self.add(run));
        self
    }

    fn count(&mut self, event: &Event) {
        let at = event.at;
        match &event.kind {
            EventKind::ServerStarted { server_uid } => self.server_uid.clone_from(server_uid),
            EventKind::WorkerConnected { worker, config } => {
                let hostname = config.hostname.clone();
                let tally = WorkerTally { hostname, from: at, until: None, runs: 0, busy: vec![0; PARTS] };
                self.workers.insert(*worker, tally);
            }
            EventKind::WorkerLost { worker, reason } => {
                if let Some(tally) = self.workers.get_mut(worker) {
                    tally.until = Some((at, *reason));
                }
            }
            EventKind::JobOpened { job, spec } => {
                let tally = self.jobs.entry(*job).or_default();
                (tally.name, tally.is_open, tally.submitted) = (spec.name.clone(), true, Some(at));
            }
            EventKind::JobSubmitted { job, spec, tasks, .. } => {
                let tally = self.jobs.entry(*job).or_default();
                if let Some(spec) = spec {
                    tally.name.clone_from(&spec.name);
                }
                tally.submitted.get_or_insert(at);
                tally.ended = None;
                tally.counts.waiting += tasks;
            }
            EventKind::JobClosed { job } => self.jobs.entry(*job).or_default().is_open = false,
            EventKind::JobCompleted { job } => self.jobs.entry(*job).or_default().ended = Some(at),
            EventKind::TasksFinished { job, tasks, .. } => {
                self.jobs.entry(*job).or_default().move_tasks(tasks.len() as u64, TaskState::Finished);
            }
            EventKind::TaskFailed { job, task, error, .. } => {
                self.jobs.entry(*job).or_default().move_tasks(1, TaskState::Failed);
                if self.failures.len() < FAILURES_MAX {
                    self.failures.push((*job, task.to_string(), error.clone()));
                }
            }
            EventKind::TasksCanceled { job, tasks } => self.take_back(*job, tasks, TaskState::Canceled),
            EventKind::TasksAborted { job, tasks } => self.take_back(*job, tasks, TaskState::Aborted),
            EventKind::JobCanceled { .. }
            | EventKind::TaskStarted { .. }
            | EventKind::TaskRetried { .. }
            | EventKind::TaskNotify { .. }
            | EventKind::WorkerOverview { .. }
            | EventKind::QueueCreated { .. }
            | EventKind::QueueRemoved { .. }
            | EventKind::AllocationQueued { .. }
            | EventKind::AllocationStarted { .. }
            | EventKind::AllocationFinished { .. } => {}
        }
    }

    fn take_back(&mut self, job: JobId, tasks: &IdList, state: TaskState) {
        self.jobs.entry(job).or_default().move_tasks(tasks.len(), state);
    }

    fn add(&mut self, run: &Run) {
        if run.end < self.window.start || run.start > self.window.end {
            return;
        }
        self.runs += 1;
        let span = self.window.end.0.saturating_sub(self.window.start.0).max(1);
        let part = |time: WallTime| {
            let since = time.0.saturating_sub(self.window.start.0).min(span - 1);
            (u128::from(since) * PARTS as u128 / u128::from(span)) as usize
        };
        let edge = |part: usize| self.window.start.0 + (u128::from(span) * part as u128 / PARTS as u128) as u64;
        for i in part(run.start)..=part(run.end) {
            let overlap = run.end.0.min(edge(i + 1)).saturating_sub(run.start.0.max(edge(i)));
            let add = |busy: &mut [u64]| {
                if let Some(busy) = busy.get_mut(i) {
                    *busy = busy.saturating_add(overlap);
                }
            };
            add(&mut self.busy);
            for worker in &run.workers {
                if let Some(tally) = self.workers.get_mut(worker) {
                    add(&mut tally.busy);
                }
            }
        }
        for worker in &run.workers {
            if let Some(tally) = self.workers.get_mut(worker) {
                tally.runs += 1;
            }
        }
    }
}

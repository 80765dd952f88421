use std::{collections::BTreeMap, path::Path};

use hq_core::{
    DetailPlace, Event, EventKind, HardwareState, JobDetail, JobId, JobInfo, WallTime, WorkerId, WorkerInfo,
};

use super::{
    super::model::{LINES_MAX, RunningTask, Wish},
    ledger::Ledger,
    live::{RUNNING_JOBS_MAX, part, running_on, running_part},
};
use crate::{journal::FileLog, output::now};

/// A journal, read up to a moment.
pub(super) struct Roll {
    pub(super) log: FileLog,
    /// The last record's.
    pub(super) at: WallTime,
    /// What was written later is not in it.
    opened: WallTime,
    pub(super) ledger: Ledger,
    pub(super) machines: BTreeMap<WorkerId, Box<HardwareState>>,
    /// Kept for its memory.
    events: Vec<Event>,
}

impl Roll {
    /// Nothing read yet.
    ///
    /// # Errors
    /// Where it is no journal that can be read.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let opened = now();
        let log = FileLog::open(path)?;
        Ok(Self { log, opened, at: WallTime(0), ledger: Ledger::default(), machines: BTreeMap::new(), events: vec![] })
    }

    /// Another one that stands at the same moment, and is read on by itself.
    pub(super) fn fork(&self) -> Self {
        Self {
            log: self.log.fork(),
            at: self.at,
            opened: self.opened,
            ledger: self.ledger.clone(),
            machines: self.machines.clone(),
            events: vec![],
        }
    }

    /// Whether it can be read on to that moment; else it has to be read anew.
    pub(super) fn reaches(&self, at: WallTime) -> bool {
        self.at <= at && at <= self.opened.max(self.at)
    }

    /// Reads the next record, which was written at `time`; what it tells of goes to `see`.
    ///
    /// # Errors
    /// Where the file is damaged.
    pub(super) fn step(&mut self, time: WallTime, mut see: impl FnMut(&Event)) -> anyhow::Result<()> {
        self.events.clear();
        self.at = self.at.max(time);
        let Some(record) = self.log.next_events(&mut self.events)? else { return Ok(()) };
        self.ledger.take(&record, &self.events);
        for event in self.events.drain(..) {
            see(&event);
            match event.kind {
                EventKind::WorkerOverview { worker, state } => drop(self.machines.insert(worker, state)),
                EventKind::WorkerLost { worker, .. } => drop(self.machines.remove(&worker)),
                EventKind::ServerStarted { .. } => self.machines.clear(),
                _ => {}
            }
        }
        Ok(())
    }

    /// The newest jobs.
    pub(super) fn jobs(&self) -> Vec<JobInfo> {
        self.log.chronicle().jobs().rev().take(LINES_MAX as usize).collect()
    }

    /// The newest workers.
    pub(super) fn workers(&self) -> Vec<WorkerInfo> {
        let all: Vec<WorkerInfo> = self.log.chronicle().workers().collect();
        let skipped = all.len().saturating_sub(LINES_MAX as usize);
        all.into_iter().skip(skipped).collect()
    }

    /// A job with its submits and the tasks that are shown.
    pub(super) fn job(&self, job: JobId, wish: &Wish) -> Option<JobDetail> {
        let mut place = Some(DetailPlace::default());
        let mut whole: Option<JobDetail> = None;
        while let Some(from) = place {
            let page = self.log.chronicle().details(job, &part(wish, from));
            let detail = page.jobs.into_iter().next()?;
            match &mut whole {
                Some(whole) => whole.append(detail),
                None => whole = Some(detail),
            }
            place = page.next;
        }
        whole
    }

    /// Tasks that run on a worker: the first ones of the newest jobs.
    pub(super) fn running(&self, worker: WorkerId) -> Vec<RunningTask> {
        let jobs = self.log.chronicle().jobs().rev().filter(|job| job.counts.running > 0).take(RUNNING_JOBS_MAX);
        let details = jobs.flat_map(|job| self.log.chronicle().details(job.id, &running_part(job.id)).jobs);
        running_on(worker, details.collect())
    }
}

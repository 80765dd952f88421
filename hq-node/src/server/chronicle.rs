use hq_core::{DetailPage, DetailPart, Event, Fact, JobId, JobInfo, Record, Seq, WallTime, WorkerInfo};
use hq_scheduler::Scheduler;

use super::{
    book::JobBook,
    details::Details,
    events::LastRun,
    feed::tell_story,
    grants::GrantBook,
    render::{job_info, worker_info},
    retell::retell,
    wall::Wall,
};

/// The events that the records of a journal tell of, without a server: the same that a server told when it wrote them.
#[derive(Debug, Default)]
pub struct Chronicle {
    scheduler: Scheduler,
    jobs: JobBook,
    grants: GrantBook,
    wall: Wall,
    server_uid: String,
    last: Seq,
}

/// A copy goes on by itself.
impl Clone for Chronicle {
    fn clone(&self) -> Self {
        Self {
            scheduler: self.scheduler.fork_past(),
            jobs: self.jobs.clone(),
            grants: self.grants.clone(),
            wall: self.wall.clone(),
            server_uid: self.server_uid.clone(),
            last: self.last,
        }
    }
}

impl Chronicle {
    /// Takes the records of a journal from its first one on.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts the events of the next record into `events`.
    ///
    /// # Errors
    /// One line for people, where the record contradicts those before.
    pub fn tell(&mut self, seq: Seq, record: &Record, events: &mut Vec<Event>) -> Result<(), String> {
        if seq <= self.last {
            return Err(format!("record {seq} of the journal comes after record {}", self.last));
        }
        self.last = seq;
        self.scheduler.replay(record).map_err(|reason| format!("record {seq} of the journal: {reason}"))?;
        let fact = &record.fact;
        if let Fact::Boot { wall, server_uid, .. } = fact {
            self.server_uid.clone_from(server_uid);
            self.wall.anchor(record.at, WallTime(*wall));
        }
        let scheduler = &self.scheduler;
        let instance = |task| scheduler.task(task).map(|task| task.instance).unwrap_or_default();
        let mut stories = vec![];
        let last = |task| scheduler.task(task).map(LastRun::of).unwrap_or_default();
        retell(fact, &mut self.jobs, &mut self.grants, &self.wall, last, &mut stories);
        let find = |task| {
            let (job, number) = self.jobs.locate(task)?;
            Some((job, number, instance(task)))
        };
        let at = self.wall.of(record.at);
        for story in &stories {
            tell_story(story, seq, at, &self.wall, None, &find, events);
        }
        Ok(())
    }

    /// Number of the last record taken.
    pub const fn last(&self) -> Seq {
        self.last
    }

    /// The moment of a record by the wall clock of its boot.
    pub fn time_of(&self, record: &Record) -> WallTime {
        self.wall.of(record.at)
    }

    /// Jobs as a server would list them after the last record, by id.
    pub fn jobs(&self) -> impl DoubleEndedIterator<Item = JobInfo> {
        let ids: Vec<JobId> = self.scheduler.jobs().map(|job| job.id).collect();
        ids.into_iter().filter_map(|job| self.job(job))
    }

    /// The same of one job.
    pub fn job(&self, job: JobId) -> Option<JobInfo> {
        Some(job_info(&self.scheduler.job(job)?, &self.wall))
    }

    /// What one job is made of after the last record: as much as a server puts into one answer.
    pub fn details(&self, job: JobId, part: &DetailPart) -> DetailPage {
        let details = Details { scheduler: &self.scheduler, wall: &self.wall, server_uid: &self.server_uid, part };
        details.page(std::iter::once(job), |job| self.scheduler.job(job))
    }

    /// Workers as a server would list them after the last record, by id; those that have ended as well.
    pub fn workers(&self) -> impl Iterator<Item = WorkerInfo> {
        self.scheduler.workers().map(|worker| worker_info(&worker, &self.wall))
    }
}

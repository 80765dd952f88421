use hq_core::{Event, EventKind, Fact, Record, Seq, WallTime};
use hq_scheduler::Scheduler;

use super::{
    book::JobBook,
    events::{LastRun, tell},
    feed::tell_story,
    grants::GrantBook,
    story::Story,
    wall::Wall,
};

/// The events that the records of a journal tell of, without a server: the same that a server told when it wrote them.
#[derive(Debug, Default)]
pub struct Chronicle {
    scheduler: Scheduler,
    jobs: JobBook,
    grants: GrantBook,
    wall: Wall,
    last: Seq,
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
        if let Fact::Boot { wall, .. } = fact {
            self.wall.anchor(record.at, WallTime(*wall));
        }
        let scheduler = &self.scheduler;
        let instance = |task| scheduler.task(task).map(|task| task.instance).unwrap_or_default();
        let mut stories = vec![];
        let last = |task| scheduler.task(task).map(LastRun::of).unwrap_or_default();
        tell(fact, &self.jobs, &self.grants, &self.wall, last, &mut stories);
        let mut settled = vec![];
        self.jobs.apply(fact, &mut settled);
        self.grants.apply(fact);
        settled.retain(|job| self.jobs.completes_now(*job));
        stories.extend(settled.into_iter().map(|job| Story::Told(EventKind::JobCompleted { job })));
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
}

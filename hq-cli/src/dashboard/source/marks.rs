use hq_core::WallTime;

use super::roll::Roll;

/// Copies that are kept, at most.
const MARKS_MAX: usize = 16;
/// Tasks in all of them together, at most: where there are more, a way back is a long one.
const TASKS_MAX: u64 = 4 << 20;
/// Records between two of them at first; doubled when there are too many.
const EVERY: u64 = 16_384;

/// Copies of a journal's roll at some of the moments that it passed, so that a way back begins near its end.
pub(super) struct Marks {
    /// In order, each with the tasks in it.
    marks: Vec<(Roll, u64)>,
    every: u64,
}

impl Marks {
    /// None yet.
    pub(super) const fn new() -> Self {
        Self { marks: vec![], every: EVERY }
    }

    /// The roll has passed another record: keeps a copy where it is far enough from the one before.
    pub(super) fn pass(&mut self, roll: &Roll) {
        let last = self.marks.last().map_or(0, |(mark, _)| mark.log.last().0);
        if roll.log.last().0 < last.saturating_add(self.every) {
            return;
        }
        let tasks = roll.log.chronicle().jobs().map(|job| job.counts.total() - job.counts.waiting).sum();
        // Looked at first: a copy that there is no room for is not made.
        if tasks <= TASKS_MAX {
            self.marks.push((roll.fork(), tasks));
        }
        while self.marks.len() > MARKS_MAX || self.tasks() > TASKS_MAX {
            self.thin_out();
        }
        if tasks > TASKS_MAX {
            self.every = u64::MAX;
        }
    }

    /// A roll that stands at the last moment kept that is not after `at`.
    pub(super) fn nearest(&self, at: WallTime) -> Option<&Roll> {
        let index = self.marks.partition_point(|(mark, _)| mark.at <= at).checked_sub(1)?;
        self.marks.get(index).map(|(mark, _)| mark)
    }

    fn tasks(&self) -> u64 {
        self.marks.iter().map(|(_, tasks)| tasks).sum()
    }

    /// Drops every second one, the first of them.
    fn thin_out(&mut self) {
        let mut index = 0;
        self.marks.retain(|_| {
            index += 1;
            index % 2 == 0
        });
        self.every = self.every.saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Arc};

    use hq_core::{Epoch, Fact, JobId, JobSpec, Record, Seq, Tick};
    use hq_journal::{FileJournal, FileOptions, Journal as _, Urgency};

    use super::*;

    /// A job is opened in each of so many milliseconds.
    fn write(path: &Path, jobs: u32) {
        let boot = Fact::Boot { epoch: Epoch(1), server_uid: "u".to_owned(), wall: 1_000_000, version: "1".to_owned() };
        let mut records = vec![Record { at: Tick(0), fact: boot }];
        records.extend((1..=jobs).map(|job| {
            let spec = JobSpec { name: format!("job{job}"), max_fails: None };
            Record { at: Tick(u64::from(job) * 1_000), fact: Fact::JobOpened { job: JobId(job), spec } }
        }));
        let (mut journal, recovery) =
            FileJournal::open(path, FileOptions::default(), Arc::new(|_| {})).expect("a journal");
        journal.append(Epoch(1), recovery.next, &records, Urgency::Lazy).expect("appended");
        Box::new(journal).close().expect("closed");
    }

    fn roll_to(roll: &mut Roll, at: WallTime, mut pass: impl FnMut(&Roll)) {
        while let Some(time) = roll.log.next_time().expect("readable").filter(|time| *time <= at) {
            roll.step(time, |_| {}).expect("readable");
            pass(roll);
        }
    }

    const fn after(jobs: u64) -> WallTime {
        WallTime(1_000_000 + jobs * 1_000)
    }

    #[test]
    fn a_way_back_begins_nearby_and_shows_the_same() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("journal");
        write(&path, 1_000);
        let mut marks = Marks { marks: vec![], every: 10 };
        let mut roll = Roll::open(&path).expect("a journal");
        roll_to(&mut roll, after(1_000), |roll| marks.pass(roll));
        assert!((MARKS_MAX / 2..=MARKS_MAX).contains(&marks.marks.len()), "{}", marks.marks.len());
        assert!(marks.nearest(after(0)).is_none());
        // The file may change: what is kept goes on in the one that was opened.
        std::fs::remove_file(&path).expect("removed");
        for jobs in [200, 511, 999, 1_000] {
            let mark = marks.nearest(after(jobs)).expect("one is near");
            let read = Seq(jobs + 1).0 - mark.log.last().0;
            assert!(read <= 2 * marks.every, "{read} records before {jobs}");
            let mut back = mark.fork();
            roll_to(&mut back, after(jobs), |_| {});
            assert_eq!((back.log.last(), back.log.chronicle().jobs().count() as u64), (Seq(jobs + 1), jobs));
        }
    }
}

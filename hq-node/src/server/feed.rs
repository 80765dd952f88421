use std::collections::{BTreeSet, VecDeque};

use hq_core::{Event, EventKind, FinishedTask, Instance, JobId, Ordinal, Seq, TaskNumber, Tick, WallTime};

use super::{
    story::{Story, Whose},
    wall::Wall,
};

/// The latest events, as many as fit into some bytes. They are told once they are safe.
#[derive(Debug)]
pub(super) struct Feed {
    entries: VecDeque<Entry>,
    /// Position of the first entry that is kept; positions are never used again.
    first: u64,
    /// Position after the last entry that may be told.
    published: u64,
    /// Events before this number are gone.
    floor: Seq,
    /// Of all but those in `bulky`.
    bytes: usize,
    bytes_max: usize,
    /// Positions of stories that are too long to be kept.
    bulky: VecDeque<u64>,
}

#[derive(Debug)]
struct Entry {
    seq: Seq,
    at: Tick,
    story: Story,
}

/// A listener's place in the feed.
#[derive(Clone, Debug)]
pub(super) struct Cursor {
    /// Position of the next entry to look at.
    at: u64,
    /// Only events of these jobs.
    jobs: Option<BTreeSet<JobId>>,
    /// It asked for what is not there: that has to be said first.
    astray: bool,
}

/// What a listener is told next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Chapter {
    /// These, in order; not empty.
    Events(Vec<Event>),
    /// What came before is gone.
    Reset {
        /// Number of the next event.
        next: Seq,
    },
}

/// Events per batch.
const BATCH_EVENTS: usize = 512;
/// Ended tasks per batch, past which it is full.
const BATCH_ENDS: usize = 4096;
/// Bytes of stories per batch, past which it is full.
const BATCH_BYTES: usize = 256 * 1024;
/// A story that takes more than this part of the room is not kept for those who do not keep up.
const BULKY_SHARE: usize = 4;

impl Feed {
    /// Nothing in it; what came before `floor` is not known.
    pub(super) const fn new(floor: Seq, bytes_max: usize) -> Self {
        Self { entries: VecDeque::new(), first: 0, published: 0, floor, bytes: 0, bytes_max, bulky: VecDeque::new() }
    }

    /// Adds what happened by fact `seq`, not before those added earlier. [`trim`](Self::trim) makes room.
    pub(super) fn push(&mut self, seq: Seq, at: Tick, mut story: Story) {
        story.slim();
        if self.is_bulky(&story) {
            self.bulky.push_back(self.first + self.entries.len() as u64);
        } else {
            self.bytes += story.size();
        }
        self.entries.push_back(Entry { seq, at, story });
    }

    /// Too much to drive out others.
    fn is_bulky(&self, story: &Story) -> bool {
        story.size() > self.bytes_max / BULKY_SHARE
    }

    /// Everything up to `durable` may be told; says whether that is more than before.
    pub(super) fn publish(&mut self, durable: Seq) -> bool {
        let before = self.published;
        self.published = self.published.max(self.first);
        let fresh = self.entries.iter().skip((self.published - self.first) as usize);
        self.published += fresh.take_while(|entry| entry.seq <= durable).count() as u64;
        self.published > before
    }

    /// Drops what is too much of what may be told: the oldest, and single stories that are too long to be kept for those
    /// who do not keep up. Who keeps up has been told. What may not be told yet is kept however much it is: nobody could
    /// have heard of it.
    pub(super) fn trim(&mut self) {
        while let Some(at) = self.bulky.pop_front_if(|at| *at < self.published) {
            if let Some(entry) = at.checked_sub(self.first).and_then(|index| self.entries.get_mut(index as usize)) {
                entry.story = Story::Gone(entry.story.whose());
                self.bytes += entry.story.size();
            }
        }
        while self.bytes > self.bytes_max && self.first < self.published {
            let Some(gone) = self.entries.pop_front() else { return };
            self.bytes -= gone.story.size();
            self.first += 1;
            self.floor = gone.seq.next();
        }
    }

    /// A listener from event `from` on, or from now on. `next` is the number of the next fact.
    pub(super) fn listen(&self, from: Option<Seq>, next: Seq, jobs: Option<BTreeSet<JobId>>) -> Cursor {
        match from {
            None => Cursor { at: self.published, jobs, astray: false },
            Some(from) if from < self.floor || from > next => Cursor { at: self.first, jobs, astray: true },
            Some(from) => {
                let skipped = self.entries.partition_point(|entry| entry.seq < from);
                Cursor { at: self.first + skipped as u64, jobs, astray: false }
            }
        }
    }

    /// The next batch for a listener; `None` where there is nothing yet. `find` tells job, number and instance of a
    /// task; what it does not know is left out. `next` is the number of the next fact.
    pub(super) fn read(
        &self,
        cursor: &mut Cursor,
        wall: &Wall,
        next: Seq,
        find: impl Fn(Ordinal) -> Option<(JobId, TaskNumber, Instance)>,
    ) -> Option<Chapter> {
        if cursor.astray || cursor.at < self.first {
            cursor.astray = false;
            cursor.at = self.first;
            return Some(Chapter::Reset { next: self.entries.front().map_or(next, |entry| entry.seq) });
        }
        let mut events = Vec::new();
        let (mut ends, mut bytes) = (0, 0);
        let is_full = |events: &Vec<Event>, ends, bytes| {
            events.len() >= BATCH_EVENTS || ((ends >= BATCH_ENDS || bytes >= BATCH_BYTES) && !events.is_empty())
        };
        while cursor.at < self.published && !is_full(&events, ends, bytes) {
            let Some(entry) = self.entries.get((cursor.at - self.first) as usize) else { break };
            if let Story::Gone(whose) = entry.story
                && is_wanted(whose, cursor.jobs.as_ref())
            {
                if !events.is_empty() {
                    break; // They come first.
                }
                cursor.at += 1;
                let after = self.entries.get((cursor.at - self.first) as usize);
                return Some(Chapter::Reset { next: after.map_or(next, |entry| entry.seq) });
            }
            cursor.at += 1;
            bytes += entry.story.size();
            ends += entry.tell(wall, cursor.jobs.as_ref(), &find, &mut events);
        }
        (!events.is_empty()).then_some(Chapter::Events(events))
    }
}

/// Whether a story is for who listens to these jobs, or to all.
fn is_wanted(whose: Whose, jobs: Option<&BTreeSet<JobId>>) -> bool {
    jobs.is_none_or(|jobs| match whose {
        Whose::Nobodys => false,
        Whose::Jobs(job) => jobs.contains(&job),
        Whose::Anybodys => true,
    })
}

impl Entry {
    /// Puts its events into `events`; says how many ended tasks were looked at.
    fn tell(
        &self,
        wall: &Wall,
        jobs: Option<&BTreeSet<JobId>>,
        find: &impl Fn(Ordinal) -> Option<(JobId, TaskNumber, Instance)>,
        events: &mut Vec<Event>,
    ) -> usize {
        tell_story(&self.story, self.seq, wall.of(self.at), wall, jobs, find, events)
    }
}

/// Puts the events of a story that happened by fact `seq` at `at` into `events`; says how many ended tasks were looked
/// at.
pub(super) fn tell_story(
    story: &Story,
    seq: Seq,
    at: WallTime,
    wall: &Wall,
    jobs: Option<&BTreeSet<JobId>>,
    find: &impl Fn(Ordinal) -> Option<(JobId, TaskNumber, Instance)>,
    events: &mut Vec<Event>,
) -> usize {
    let wanted = |job: Option<JobId>| jobs.is_none_or(|jobs| job.is_some_and(|job| jobs.contains(&job)));
    let (workers, variant, ends) = match story {
        Story::Told(kind) => {
            if wanted(kind.job()) {
                events.push(Event { seq, at, kind: kind.clone() });
            }
            return 0;
        }
        Story::Finished { workers, variant, ends } => (workers, *variant, ends),
        Story::Gone(_) => return 0,
    };
    let mut count = 0;
    let mut last: Option<(JobId, Vec<FinishedTask>)> = None;
    let mut close = |last: Option<(JobId, Vec<FinishedTask>)>| {
        if let Some((job, tasks)) = last {
            let workers = workers.clone();
            events.push(Event { seq, at, kind: EventKind::TasksFinished { job, workers, variant, tasks } });
        }
    };
    for end in ends.iter() {
        count += 1;
        let Some((job, task, instance)) = find(end.task).filter(|(job, ..)| wanted(Some(*job))) else { continue };
        let finished = FinishedTask { task, instance, started: wall.of(end.start), ended: wall.of(end.end) };
        match &mut last {
            Some((same, tasks)) if *same == job => tasks.push(finished),
            _ => close(last.replace((job, vec![finished]))),
        }
    }
    close(last);
    count
}

#[cfg(test)]
mod tests {
    use hq_core::{End, Ends, WorkerId};

    use super::*;

    fn closed(job: u32) -> Story {
        Story::Told(EventKind::JobClosed { job: JobId(job) })
    }

    fn find(task: Ordinal) -> Option<(JobId, TaskNumber, Instance)> {
        (task.0 < 100).then(|| (JobId(1 + task.0 as u32 / 10), TaskNumber(task.0 as u32 % 10), Instance(0)))
    }

    fn seqs(feed: &Feed, cursor: &mut Cursor) -> Option<Result<Vec<u64>, u64>> {
        match feed.read(cursor, &Wall::default(), Seq(100), find)? {
            Chapter::Events(events) => Some(Ok(events.iter().map(|event| event.seq.0).collect())),
            Chapter::Reset { next } => Some(Err(next.0)),
        }
    }

    #[test]
    fn only_what_is_safe_is_told() {
        let mut feed = Feed::new(Seq(1), 10_000);
        let mut cursor = feed.listen(Some(Seq(2)), Seq(1), None);
        let (mut early, mut now) = (feed.listen(Some(Seq(1)), Seq(1), None), feed.listen(None, Seq(1), None));
        assert_eq!(seqs(&feed, &mut cursor), Some(Err(100)), "nobody knows of event 2 yet: another history");
        for seq in 1..=4 {
            feed.push(Seq(seq), Tick(seq), closed(1));
        }
        assert_eq!(seqs(&feed, &mut early), None);
        assert!(feed.publish(Seq(2)) && !feed.publish(Seq(2)));
        assert_eq!(seqs(&feed, &mut early), Some(Ok(vec![1, 2])));
        assert_eq!(seqs(&feed, &mut early), None);
        assert!(feed.publish(Seq(9)));
        assert_eq!(seqs(&feed, &mut early), Some(Ok(vec![3, 4])));
        assert_eq!(seqs(&feed, &mut now), Some(Ok(vec![1, 2, 3, 4])));
    }

    #[test]
    fn who_falls_behind_is_reset() {
        let mut feed = Feed::new(Seq(1), closed(1).size() * 4);
        let mut slow = feed.listen(Some(Seq(1)), Seq(1), None);
        for seq in 1..=6 {
            feed.push(Seq(seq), Tick(seq), closed(1));
            feed.publish(Seq(seq));
            feed.trim();
        }
        assert_eq!(seqs(&feed, &mut slow), Some(Err(3)));
        assert_eq!(seqs(&feed, &mut slow), Some(Ok(vec![3, 4, 5, 6])));
        for (from, first) in [(2, Err(3)), (3, Ok(vec![3, 4, 5, 6])), (6, Ok(vec![6])), (8, Err(3))] {
            let mut cursor = feed.listen(Some(Seq(from)), Seq(7), None);
            assert_eq!(seqs(&feed, &mut cursor), Some(first), "from {from}");
        }
        assert_eq!(seqs(&feed, &mut feed.listen(Some(Seq(7)), Seq(7), None)), None, "just what comes next");
    }

    #[test]
    fn ends_are_told_by_job_and_only_to_those_who_asked() {
        let mut feed = Feed::new(Seq(1), 10_000);
        let ends = [8, 9, 10, 11, 300].map(|t| End { task: Ordinal(t), start: Tick(t), end: Tick(t + 5) });
        feed.push(Seq(1), Tick(400), Story::Finished { workers: vec![WorkerId(7)], variant: 0, ends: Ends::new(ends) });
        feed.push(Seq(2), Tick(400), Story::Told(EventKind::ServerStarted { server_uid: "u".to_owned() }));
        feed.publish(Seq(2));
        let mut wall = Wall::default();
        wall.anchor(Tick(0), WallTime(1000));
        let told = |jobs: Option<u32>| {
            let mut cursor = feed.listen(Some(Seq(1)), Seq(3), jobs.map(|job| BTreeSet::from([JobId(job)])));
            let Some(Chapter::Events(events)) = feed.read(&mut cursor, &wall, Seq(3), find) else { return vec![] };
            events
        };
        let all = told(None);
        assert_eq!(all.len(), 3, "two jobs and the server; what is forgotten is left out");
        assert_eq!(told(Some(2)), all[1..2]);
        assert_eq!(told(Some(5)), []);
        let EventKind::TasksFinished { job, workers, tasks, .. } = &all[1].kind else { panic!("{all:?}") };
        assert_eq!((*job, &workers[..], all[1].at), (JobId(2), &[WorkerId(7)][..], WallTime(1400)));
        let first =
            FinishedTask { task: TaskNumber(0), instance: Instance(0), started: WallTime(1010), ended: WallTime(1015) };
        assert_eq!(tasks[0], first);
    }

    #[test]
    fn one_long_story_drives_out_nobody_elses() {
        let long = |job| Story::Told(EventKind::JobCanceled { job: JobId(job), reason: Some("x".repeat(100_000)) });
        let mut feed = Feed::new(Seq(1), 10_000);
        let listen = |feed: &Feed, job: u32| feed.listen(Some(Seq(1)), Seq(1), Some(BTreeSet::from([JobId(job)])));
        let (mut keeps_up, mut slow, mut other) = (listen(&feed, 2), listen(&feed, 2), listen(&feed, 1));
        for (seq, story) in [closed(1), closed(2), long(2), closed(1), closed(2)].into_iter().enumerate() {
            feed.push(Seq(seq as u64 + 1), Tick(0), story);
        }
        assert!(!feed.publish(Seq(0)));
        feed.trim();
        feed.publish(Seq(3));
        assert_eq!(seqs(&feed, &mut keeps_up), Some(Ok(vec![2, 3])), "kept until it could be told");
        feed.trim();
        feed.publish(Seq(9));
        assert_eq!(seqs(&feed, &mut keeps_up), Some(Ok(vec![5])));
        assert_eq!(seqs(&feed, &mut other), Some(Ok(vec![1, 4])), "as if nothing were missing");
        let told: Vec<_> = std::iter::from_fn(|| seqs(&feed, &mut slow)).collect();
        assert_eq!(told, [Ok(vec![2]), Err(4), Ok(vec![5])]);
        assert_eq!((feed.bytes, feed.bulky.len()), (feed.entries.iter().map(|entry| entry.story.size()).sum(), 0));
    }

    #[test]
    fn batches_are_bounded() {
        let mut feed = Feed::new(Seq(1), 1 << 20);
        for seq in 1..=1000 {
            feed.push(Seq(seq), Tick(seq), closed(1));
        }
        feed.publish(Seq(1000));
        let mut cursor = feed.listen(Some(Seq(1)), Seq(1001), None);
        let batches: Vec<usize> =
            std::iter::from_fn(|| seqs(&feed, &mut cursor)).map(|batch| batch.unwrap().len()).collect();
        assert_eq!(batches, [512, 488]);
    }

    #[test]
    fn a_filter_does_not_hide_what_comes_after() {
        let mut feed = Feed::new(Seq(1), 1 << 20);
        for seq in 1..=1000 {
            feed.push(Seq(seq), Tick(seq), closed(if seq == 900 { 2 } else { 1 }));
        }
        feed.publish(Seq(1000));
        let mut cursor = feed.listen(Some(Seq(1)), Seq(1001), Some(BTreeSet::from([JobId(2)])));
        assert_eq!(seqs(&feed, &mut cursor), Some(Ok(vec![900])));
    }
}

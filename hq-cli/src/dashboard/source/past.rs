use std::{collections::BTreeSet, path::PathBuf, thread};

use hq_core::{EventKind, JobId, Span, WallTime};
use tokio::{
    runtime::Handle,
    sync::{mpsc, watch},
};

use super::{
    super::model::{News, Sight, Tab, Wish},
    marks::Marks,
    roll::Roll,
};

/// Points of curves that are told at a time.
const POINTS_MAX: usize = 1_024;
/// The distance of points at first; doubled again and again, so that a long journal has not many more than a short one.
const STEP: Span = Span::millis(100);
/// Points in time, after which their distance is doubled.
const STEPS: u32 = 1_024;
/// Said while it takes long.
const READING: &str = "Reading the journal…";
/// Records between two looks at whether something else is wished for.
const RECORDS: u32 = 4_096;

/// A journal file, of which any moment can be shown: it is read up to there, from the nearest moment before that is kept.
pub(in crate::dashboard) struct Past {
    path: PathBuf,
    roll: Roll,
    begin: WallTime,
}

/// Nobody listens any more.
struct Over;

impl Past {
    /// Opens the journal; it may be in use.
    ///
    /// # Errors
    /// Where it is none that can be read.
    pub(in crate::dashboard) fn open(path: PathBuf) -> anyhow::Result<Self> {
        let mut roll = Roll::open(&path)?;
        let Some(begin) = roll.log.next_time()? else { anyhow::bail!("{path:?} has no events") };
        Ok(Self { path, roll, begin })
    }

    /// The uid of the server that wrote it.
    pub(in crate::dashboard) fn server_uid(&self) -> Option<&str> {
        self.roll.log.server_uid()
    }

    /// Its first moment.
    pub(in crate::dashboard) const fn begin(&self) -> WallTime {
        self.begin
    }

    /// Tells first how jobs were over the whole time, then of each moment that is wished for; on a thread of its own, which
    /// ends when nobody listens any more.
    pub(in crate::dashboard) fn spawn(self, runtime: Handle, wishes: watch::Receiver<Wish>, news: mpsc::Sender<News>) {
        let mut teller = Teller { path: self.path, runtime, wishes, news, marks: Marks::new(), damage: String::new() };
        thread::spawn(move || {
            // `Over` is no news to anybody.
            let _ = teller.tell(self.roll);
        });
    }
}

struct Teller {
    path: PathBuf,
    runtime: Handle,
    wishes: watch::Receiver<Wish>,
    news: mpsc::Sender<News>,
    marks: Marks,
    /// Where the journal cannot be read on, and why; empty where it is whole.
    damage: String,
}

impl Teller {
    fn tell(&mut self, mut roll: Roll) -> Result<(), Over> {
        self.say(None, Sight::Message(READING.to_owned()))?;
        // What was read of a damaged one is shown.
        self.damage = self.scan(&mut roll)?.err().map(|error| format!("{error:#}")).unwrap_or_default();
        self.say(None, Sight::Message(self.damage.clone()))?;
        let mut shown = None;
        loop {
            let wish = *self.wishes.borrow_and_update();
            if let Some(at) = wish.at {
                let result = self.roll_to(at, &mut roll)?;
                self.say(wish.at, Sight::Message(self.damage.clone()))?;
                match result {
                    Ok(true) => {
                        self.show(&wish, &roll, shown != Some(at))?;
                        shown = Some(at);
                    }
                    // Something else is wished for.
                    Ok(false) => continue,
                    Err(error) => self.say(wish.at, Sight::Message(format!("{error:#}")))?,
                }
            } else {
                shown = None;
            }
            self.runtime.block_on(self.wishes.changed()).map_err(|_| Over)?;
        }
    }

    fn say(&self, of: Option<WallTime>, sight: Sight) -> Result<(), Over> {
        self.news.blocking_send(News { of, sight }).map_err(|_| Over)
    }

    /// Reads all of it and tells how jobs and machines were meanwhile.
    fn scan(&mut self, roll: &mut Roll) -> Result<anyhow::Result<()>, Over> {
        let mut points = Vec::new();
        let (mut changed, mut due, mut step, mut steps) = (BTreeSet::<JobId>::new(), WallTime(0), STEP, 0);
        let mut first = None;
        let result = loop {
            let time = match roll.log.next_time() {
                Ok(Some(time)) => time,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            };
            first.get_or_insert(time);
            if time >= due {
                sample(roll, &mut changed, &mut points);
                (due, steps) = (WallTime(time.0.saturating_add(step.0)), steps + 1);
                if steps % STEPS == 0 {
                    step = Span(step.0.saturating_mul(2));
                }
            }
            if points.len() >= POINTS_MAX {
                self.say(None, Sight::Sample(std::mem::take(&mut points)))?;
            }
            let mut sights = Vec::new();
            let stepped = roll.step(time, |event| {
                changed.extend(event.kind.job());
                match &event.kind {
                    EventKind::WorkerOverview { worker, state } => sights.push(Sight::Hardware(*worker, state.clone())),
                    EventKind::QueueCreated { queue, .. } => {
                        sights.push(Sight::QueueChanged { queue: *queue, at: event.at, removed: false });
                    }
                    EventKind::QueueRemoved { queue } => {
                        sights.push(Sight::QueueChanged { queue: *queue, at: event.at, removed: true });
                    }
                    _ => {}
                }
            });
            for sight in sights {
                self.say(None, sight)?;
            }
            if let Err(error) = stepped {
                break Err(error);
            }
            self.marks.pass(roll);
        };
        sample(roll, &mut changed, &mut points);
        self.say(None, Sight::Sample(points))?;
        if let Some(first) = first {
            self.say(None, Sight::Reach(first, roll.at))?;
        }
        Ok(result)
    }

    /// Reads up to a moment, or to where the file is damaged; false where another moment is wished for meanwhile.
    fn roll_to(&mut self, at: WallTime, roll: &mut Roll) -> Result<anyhow::Result<bool>, Over> {
        let reaches = roll.reaches(at);
        match self.marks.nearest(at).filter(|mark| mark.reaches(at)) {
            Some(mark) if !reaches || mark.at > roll.at => *roll = mark.fork(),
            _ if reaches => {}
            _ => match Roll::open(&self.path) {
                Ok(fresh) => *roll = fresh,
                Err(error) => return Ok(Err(error)),
            },
        }
        let mut count = 0_u32;
        loop {
            let time = match roll.log.next_time() {
                Ok(Some(time)) if time <= at => time,
                // Damage was told when all of it was read; what is before it is shown.
                Ok(_) | Err(_) => return Ok(Ok(true)),
            };
            if roll.step(time, |_| {}).is_err() {
                return Ok(Ok(true));
            }
            self.marks.pass(roll);
            count = count.wrapping_add(1);
            if count == RECORDS {
                self.say(None, Sight::Message(READING.to_owned()))?;
            }
            if count.is_multiple_of(RECORDS) && self.wishes.has_changed().map_err(|_| Over)? {
                let wish = self.wishes.borrow().at;
                if wish.is_none_or(|wish| wish != at) {
                    return Ok(Ok(false));
                }
            }
        }
    }

    /// Tells what is wished for; lists only if they are of another moment than before.
    fn show(&self, wish: &Wish, roll: &Roll, is_new: bool) -> Result<(), Over> {
        let say = |sight| self.say(wish.at, sight);
        if is_new {
            say(Sight::Jobs { at: roll.at, whole: true, lines: roll.jobs(), gone: vec![] })?;
            say(Sight::Workers(roll.workers()))?;
            say(Sight::Queues(roll.ledger.queues()))?;
            for (worker, state) in &roll.machines {
                say(Sight::Hardware(*worker, state.clone()))?;
            }
        }
        match (wish.tab, wish.job, wish.worker, wish.queue) {
            (Tab::Jobs, Some(job), ..) => match roll.job(job, wish) {
                Some(detail) => say(Sight::Job(Box::new(detail))),
                None => Ok(()),
            },
            (Tab::Workers, _, Some(worker), _) => say(Sight::Running { worker, tasks: roll.running(worker) }),
            (Tab::Queues, .., Some(queue)) => say(Sight::Allocations(queue, roll.ledger.allocations(queue))),
            _ => Ok(()),
        }
    }
}

/// Adds how the jobs are that have changed.
fn sample(roll: &Roll, changed: &mut BTreeSet<JobId>, points: &mut Vec<(WallTime, JobId, hq_core::TaskCounts)>) {
    let chronicle = roll.log.chronicle();
    let jobs = std::mem::take(changed).into_iter().filter_map(|job| chronicle.job(job));
    points.extend(jobs.map(|job| (roll.at, job.id, job.counts)));
}

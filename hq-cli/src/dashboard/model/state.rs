use std::collections::BTreeMap;

use hq_core::{
    AllocationInfo, HardwareState, IdList, JobDetail, JobId, JobInfo, QueueId, QueueInfo, TaskCounts, TaskNumber,
    WallTime, WorkerId, WorkerInfo,
};
use jiff::tz::TimeZone;

use super::{Action, Focus, RunningTask, Tab, Timeline, Wish, history::History, list::moved};

/// Tasks that are asked for around the chosen one: more than fit on any usual screen.
const TASKS_AROUND: u64 = 100;
/// Lines of a page of a list.
const PAGE: i64 = 10;

/// Where the dashboard looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// At a server.
    Live {
        /// Its journal can be read here, so that lists can be shown as they were.
        has_past: bool,
    },
    /// At a journal file.
    Replay,
}

/// All that is known and looked at.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    /// Where it looks.
    pub(crate) source: Source,
    /// What is looked at: a file, or a server.
    pub(crate) title: String,
    /// The clock that times are shown by.
    pub(crate) zone: TimeZone,
    /// Whether there are colours.
    pub(crate) colors: bool,
    pub(crate) tab: Tab,
    pub(crate) focus: Focus,
    pub(crate) help: bool,
    pub(crate) timeline: Timeline,
    pub(crate) history: History,
    pub(crate) jobs: BTreeMap<JobId, JobInfo>,
    pub(crate) job: Option<JobId>,
    /// What is known of the chosen job.
    pub(crate) detail: Option<Box<JobDetail>>,
    /// Numbers of its tasks.
    pub(crate) ids: IdList,
    /// The chosen task: its place in `ids`.
    pub(crate) task: u64,
    pub(crate) workers: BTreeMap<WorkerId, WorkerInfo>,
    pub(crate) worker: Option<WorkerId>,
    pub(crate) hardware: BTreeMap<WorkerId, Box<HardwareState>>,
    pub(crate) running: Vec<RunningTask>,
    pub(crate) queues: BTreeMap<QueueId, QueueLine>,
    pub(crate) queue: Option<QueueId>,
    pub(crate) allocations: Vec<AllocationInfo>,
    pub(crate) allocation: u64,
    pub(crate) message: String,
    pub(crate) over: bool,
}

/// A queue as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueueLine {
    /// What it is; none: it was removed before anybody looked.
    pub(crate) info: Option<QueueInfo>,
    /// When it was made.
    pub(crate) created: Option<WallTime>,
    /// When it was removed.
    pub(crate) removed: Option<WallTime>,
    /// Its allocations, once they were looked at.
    pub(crate) allocations: Option<usize>,
}

impl Model {
    /// Nothing seen yet at `now`.
    pub(crate) fn new(source: Source, title: String, now: WallTime, zone: TimeZone, colors: bool) -> Self {
        Self {
            source,
            title,
            zone,
            colors,
            tab: Tab::default(),
            focus: Focus::default(),
            help: false,
            timeline: Timeline::new(now),
            history: History::default(),
            jobs: BTreeMap::new(),
            job: None,
            detail: None,
            ids: IdList::default(),
            task: 0,
            workers: BTreeMap::new(),
            worker: None,
            hardware: BTreeMap::new(),
            running: vec![],
            queues: BTreeMap::new(),
            queue: None,
            allocations: vec![],
            allocation: 0,
            message: String::new(),
            over: false,
        }
    }

    /// The moment whose lists are shown; none: now.
    pub(crate) fn moment(&self) -> Option<WallTime> {
        match self.source {
            // Before that nothing is known of it.
            Source::Replay => self.timeline.has_begun().then(|| self.timeline.end()),
            Source::Live { has_past: true } if !self.timeline.is_latest() => Some(self.timeline.end()),
            Source::Live { .. } => None,
        }
    }

    /// What is needed to show all this.
    pub(crate) fn wish(&self) -> Wish {
        let number = |index: u64| self.ids.get(index.min(self.ids.len().saturating_sub(1)));
        let tasks = if self.ids.is_empty() {
            (TaskNumber(0), TaskNumber(2 * TASKS_AROUND as u32))
        } else {
            let first = number(self.task.saturating_sub(TASKS_AROUND)).unwrap_or(0);
            let last = number(self.task.saturating_add(TASKS_AROUND)).unwrap_or(u32::MAX);
            (TaskNumber(first), TaskNumber(last))
        };
        let (at, tab) = (self.moment(), self.tab);
        Wish { at, tab, job: self.job, tasks, worker: self.worker, queue: self.queue }
    }

    /// Does what a key asks for.
    pub(crate) fn act(&mut self, action: Action) {
        match action {
            Action::Show(tab) => (self.tab, self.focus) = (tab, Focus::List),
            Action::Move(by) => self.shift(by),
            Action::Page(by) => self.shift(by.saturating_mul(PAGE)),
            Action::Home => self.shift(i64::MIN),
            Action::End => self.shift(i64::MAX),
            Action::Other => {
                self.focus = match self.focus {
                    Focus::List => Focus::Parts,
                    Focus::Parts => Focus::List,
                }
            }
            Action::Enter => self.focus = Focus::Parts,
            Action::Back if self.help => self.help = false,
            Action::Back => self.focus = Focus::List,
            Action::Earlier => self.timeline.earlier(),
            Action::Later => self.timeline.later(),
            Action::Closer => self.timeline.closer(),
            Action::Farther => self.timeline.farther(),
            Action::Latest => self.timeline.latest(),
            Action::Help => self.help = !self.help,
            Action::Redraw => {}
            Action::Quit => self.over = true,
        }
    }

    fn shift(&mut self, by: i64) {
        match (self.tab, self.focus) {
            (Tab::Jobs, Focus::List) => {
                let chosen = neighbour(self.jobs.keys().rev(), self.job, by);
                self.choose_job(chosen);
            }
            (Tab::Jobs, Focus::Parts) => self.task = moved(self.task, by, self.ids.len()),
            (Tab::Workers, _) => {
                let chosen = neighbour(self.workers.keys(), self.worker, by);
                self.choose_worker(chosen);
            }
            (Tab::Queues, Focus::List) => {
                let chosen = neighbour(self.queues.keys(), self.queue, by);
                self.choose_queue(chosen);
            }
            (Tab::Queues, Focus::Parts) => {
                self.allocation = moved(self.allocation, by, self.allocations.len() as u64);
            }
        }
    }

    pub(super) fn choose_job(&mut self, job: Option<JobId>) {
        if self.job != job {
            (self.job, self.task, self.detail, self.ids) = (job, 0, None, IdList::default());
        }
    }

    pub(super) fn choose_worker(&mut self, worker: Option<WorkerId>) {
        if self.worker != worker {
            self.worker = worker;
            self.running.clear();
        }
    }

    pub(super) fn choose_queue(&mut self, queue: Option<QueueId>) {
        if self.queue != queue {
            (self.queue, self.allocation) = (queue, 0);
            self.allocations.clear();
        }
    }

    /// The task that is chosen.
    pub(crate) fn task_number(&self) -> Option<TaskNumber> {
        self.ids.get(self.task).map(TaskNumber)
    }

    /// Tasks of all jobs together.
    pub(crate) fn totals(&self) -> TaskCounts {
        self.jobs.values().map(|job| &job.counts).sum()
    }
}

/// The one that is `by` lines behind `chosen`, in a list of these.
fn neighbour<'a, K: Copy + PartialEq + 'a>(
    keys: impl Iterator<Item = &'a K> + Clone,
    chosen: Option<K>,
    by: i64,
) -> Option<K> {
    let at = keys.clone().position(|key| Some(*key) == chosen).unwrap_or(0);
    let to = moved(at as u64, by, keys.clone().count() as u64);
    keys.copied().nth(usize::try_from(to).unwrap_or(usize::MAX))
}

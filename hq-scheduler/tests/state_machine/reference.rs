use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hq_core::{
    CrashLimit, DepKind, GrantId, JobId, LaneReport, Ordinal, OrdinalRange, Outcome, Span, TaskCounts, TaskNumber, TaskState, Tick,
    Work, WorkerId,
};

/// Every task by itself.
#[derive(Default)]
pub(crate) struct Reference {
    pub(crate) jobs: BTreeMap<JobId, Job>,
    pub(crate) tasks: BTreeMap<Ordinal, Task>,
    pub(crate) workers: BTreeSet<WorkerId>,
    /// What workers hold, by what they were sent.
    pub(crate) hands: BTreeMap<GrantId, Hand>,
    withdrawals: Vec<Withdrawal>,
    next: u64,
}

pub(crate) struct Job {
    pub(crate) is_open: bool,
    max_fails: Option<u32>,
    tasks: Vec<Ordinal>,
}

#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) state: TaskState,
    pub(crate) instance: u32,
    crashes: u16,
    limit: CrashLimit,
    waits_for: Vec<(Ordinal, DepKind)>,
    job: JobId,
    /// It ran on a worker that was lost; whether it may go on is not settled yet.
    bereft: bool,
}

/// A lane in its worker's hand, and what its server has heard of it.
pub(crate) struct Hand {
    pub(crate) worker: WorkerId,
    pub(crate) waiting: VecDeque<Ordinal>,
    pub(crate) running: Option<Ordinal>,
    pub(crate) holds: bool,
    pub(crate) killed: BTreeSet<Ordinal>,
    /// By the server's books: what the lane has, and what of it is known to run.
    booked: Vec<Ordinal>,
    known: Option<Ordinal>,
    last_recall: u32,
}

struct Withdrawal {
    job: JobId,
    end: TaskState,
    open: BTreeSet<Ordinal>,
    /// Lanes that have not answered, and how many answers they owe before.
    pending: BTreeSet<GrantId>,
    deadline: Tick,
    by_user: bool,
}

impl Hand {
    pub(crate) fn new(worker: WorkerId, work: &[Work]) -> Self {
        let mut hand = Self {
            worker,
            waiting: VecDeque::new(),
            running: None,
            holds: false,
            killed: BTreeSet::new(),
            booked: vec![],
            known: None,
            last_recall: 0,
        };
        hand.add(work);
        hand
    }

    pub(crate) fn add(&mut self, work: &[Work]) {
        for run in work.iter().flat_map(|work| &work.runs) {
            for i in 0..u64::from(run.numbers.count) {
                self.waiting.push_back(run.first.plus(i));
                self.booked.push(run.first.plus(i));
            }
        }
    }

    pub(crate) fn give_back(&mut self, asked: &[OrdinalRange]) -> Vec<Ordinal> {
        let (back, kept) = self.waiting.iter().partition(|task| asked.iter().any(|range| range.contains(**task)));
        self.waiting = kept;
        back
    }

    fn backlog(&self) -> impl Iterator<Item = Ordinal> + '_ {
        self.booked.iter().copied().filter(|task| Some(*task) != self.known)
    }
}

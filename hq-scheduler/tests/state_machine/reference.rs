use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hq_core::{
    CrashLimit, DepKind, GrantId, JobId, LaneReport, Ordinal, OrdinalRange, Outcome, Span, TaskCounts, TaskNumber,
    TaskState, Tick, Work, WorkerId,
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
    again: Again,
    /// It ran on a worker that was lost, in a crash or not; whether it may go on is not settled yet.
    bereft: Option<bool>,
}

/// How often a task may still be run again after an own failure, and after a crash. None: crashes are free.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Again {
    pub(crate) any: u16,
    pub(crate) crash: u16,
}

impl Again {
    pub(crate) const fn unless(self, never: bool) -> Self {
        if never { Self { any: 0, crash: u16::MAX } } else { self }
    }
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
    pub(crate) last_recall: u32,
}

struct Withdrawal {
    job: JobId,
    end: TaskState,
    open: BTreeSet<Ordinal>,
    /// Recalls that have not been answered.
    pending: BTreeSet<(GrantId, u32)>,
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
        let (back, kept): (VecDeque<Ordinal>, VecDeque<Ordinal>) =
            self.waiting.iter().partition(|task| asked.iter().any(|range| range.contains(**task)));
        self.waiting = kept;
        back.into()
    }

    fn backlog(&self) -> impl Iterator<Item = Ordinal> + '_ {
        self.booked.iter().copied().filter(|task| Some(*task) != self.known)
    }
}

/// How long a cancel waits for recalls.
const PATIENCE: Span = Span::secs(2);

impl Reference {
    pub(crate) fn add_job(&mut self, job: JobId, max_fails: Option<u32>, is_open: bool) {
        self.jobs.insert(job, Job { is_open, max_fails, tasks: vec![] });
    }

    pub(crate) fn is_open(&self, job: JobId) -> bool {
        self.jobs.get(&job).is_some_and(|job| job.is_open)
    }

    pub(crate) fn next_number(&self, job: JobId) -> u32 {
        self.jobs[&job].tasks.len() as u32
    }

    pub(crate) fn add_tasks(
        &mut self,
        job: JobId,
        n: u32,
        limit: CrashLimit,
        again: Again,
        rows: &[Vec<(TaskNumber, DepKind)>],
    ) {
        for row in &rows[..n as usize] {
            let task = Ordinal(self.next);
            self.next += 1;
            self.jobs.get_mut(&job).unwrap().tasks.push(task);
            let waits_for = row.iter().map(|(on, kind)| (self.jobs[&job].tasks[on.0 as usize], *kind)).collect();
            let state = TaskState::Waiting;
            let task_state = Task { state, instance: 0, crashes: 0, limit, waits_for, job, again, bereft: None };
            self.tasks.insert(task, task_state);
        }
        self.abort_doomed();
    }

    pub(crate) fn counts(&self, job: JobId) -> TaskCounts {
        let mut counts = TaskCounts::default();
        for task in &self.jobs[&job].tasks {
            *counts.of_mut(self.tasks[task].state) += 1;
        }
        counts
    }

    pub(crate) fn close(&mut self, job: JobId) {
        self.jobs.get_mut(&job).unwrap().is_open = false;
    }

    pub(crate) fn may_forget(&self, job: JobId) -> bool {
        let known = &self.jobs[&job];
        !known.is_open && self.counts(job).is_terminated()
    }

    pub(crate) fn forget(&mut self, job: JobId) {
        for task in self.jobs.remove(&job).unwrap().tasks {
            self.tasks.remove(&task);
        }
    }

    /// Says whether it is complete at once.
    pub(crate) fn cancel(&mut self, now: Tick, job: JobId) -> bool {
        if self.counts(job).is_terminated() {
            return true;
        }
        let before = self.withdrawals.len();
        self.withdraw(now, job, TaskState::Canceled, true);
        let complete = self.withdrawals.len() == before;
        self.settle(now, BTreeSet::new());
        complete
    }

    /// Cancels of the job that wait for recalls.
    pub(crate) fn cancels_of(&self, job: JobId) -> usize {
        self.withdrawals.iter().filter(|withdrawal| withdrawal.job == job && withdrawal.by_user).count()
    }

    fn withdraw(&mut self, now: Tick, job: JobId, end: TaskState, by_user: bool) {
        let is_open = |task: &&Ordinal| !self.tasks[*task].state.is_end();
        let mut open: BTreeSet<Ordinal> = self.jobs[&job].tasks.iter().filter(is_open).copied().collect();
        let mut pending = BTreeSet::new();
        let mut at_once = open.clone();
        for (grant, hand) in &mut self.hands {
            let asked: Vec<Ordinal> = hand.backlog().filter(|task| open.contains(task)).collect();
            if !asked.is_empty() {
                hand.last_recall += 1;
                pending.insert((*grant, hand.last_recall));
            }
            for task in asked {
                at_once.remove(&task);
            }
        }
        self.end_all(&at_once, end);
        if !pending.is_empty() {
            open.retain(|task| !at_once.contains(task));
            self.withdrawals.push(Withdrawal { job, end, open, pending, deadline: now.after(PATIENCE), by_user });
        }
    }

    fn end_all(&mut self, tasks: &BTreeSet<Ordinal>, end: TaskState) {
        for task in tasks {
            let task = self.tasks.get_mut(task).unwrap();
            if !task.state.is_end() {
                task.state = end;
            }
        }
    }

    pub(crate) fn lose(&mut self, now: Tick, worker: WorkerId, crash: bool) {
        self.workers.remove(&worker);
        let lost: Vec<GrantId> =
            self.hands.iter().filter(|(_, hand)| hand.worker == worker).map(|(grant, _)| *grant).collect();
        for grant in lost {
            let hand = self.hands.remove(&grant).unwrap();
            // The first one may have begun without a word.
            let first = hand.known.or_else(|| hand.booked.first().copied());
            for id in &hand.booked {
                // A task of a forgotten job may still be dying in a lane.
                let Some(task) = self.tasks.get_mut(id).filter(|task| !task.state.is_end()) else { continue };
                let ran = first == Some(*id);
                task.state = TaskState::Waiting;
                task.instance += 1;
                task.crashes += u16::from(ran && crash);
                task.bereft = ran.then_some(crash);
            }
        }
        self.settle(now, BTreeSet::new());
    }

    pub(crate) fn report(&mut self, now: Tick, report: &LaneReport) {
        let mut failed = BTreeSet::new();
        let hand = self.hands.get_mut(&report.grant).unwrap();
        for end in &report.ended {
            let Some(at) = hand.booked.iter().position(|task| *task == end.task) else { continue };
            hand.booked.remove(at);
            hand.known.take_if(|known| *known == end.task);
            let Some(task) = self.tasks.get_mut(&end.task) else { continue };
            match (task.state.is_end(), &end.outcome) {
                (true, _) => {}
                (false, Outcome::Finished) => task.state = TaskState::Finished,
                (false, _) if task.again.any > 0 => {
                    task.again.any -= 1;
                    task.instance += 1;
                    task.state = TaskState::Waiting;
                }
                (false, _) => {
                    task.state = TaskState::Failed;
                    failed.insert(task.job);
                }
            }
        }
        if let Some((id, _)) = report.started
            && hand.booked.contains(&id)
            && let Some(task) = self.tasks.get_mut(&id)
            && task.state == TaskState::Waiting
        {
            task.state = TaskState::Running;
            hand.known = Some(id);
        }
        self.settle(now, failed);
    }

    pub(crate) fn recalled(&mut self, now: Tick, grant: GrantId, n: u32, back: &[Ordinal]) {
        if let Some(hand) = self.hands.get_mut(&grant) {
            hand.booked.retain(|task| !back.contains(task));
        }
        for withdrawal in &mut self.withdrawals {
            withdrawal.pending.remove(&(grant, n));
        }
        self.settle(now, BTreeSet::new());
    }

    /// Time has passed: a withdrawal waits two seconds at most.
    pub(crate) fn pass(&mut self, now: Tick) {
        self.settle(now, BTreeSet::new());
    }

    /// All that follows, until nothing more does.
    fn settle(&mut self, now: Tick, mut failed: BTreeSet<JobId>) {
        loop {
            self.abort_doomed();
            for task in self.tasks.values_mut() {
                let Some(crash) = task.bereft.take() else { continue };
                let is_over = match task.limit {
                    CrashLimit::NeverRestart => true,
                    CrashLimit::Limit(n) => task.crashes >= n,
                    CrashLimit::Unlimited => false,
                };
                let is_over = is_over || crash && task.again.crash == 0;
                task.again.crash -= u16::from(crash && task.again.crash > 0);
                if is_over && task.state == TaskState::Waiting {
                    task.state = TaskState::Failed;
                    failed.insert(task.job);
                }
            }
            for job in std::mem::take(&mut failed) {
                let exceeded = self.jobs[&job].max_fails.is_some_and(|max| self.counts(job).failed > u64::from(max));
                let under_way = self.withdrawals.iter().any(|withdrawal| withdrawal.job == job);
                if exceeded && !under_way && !self.counts(job).is_terminated() {
                    self.withdraw(now, job, TaskState::Aborted, false);
                }
            }
            self.end_what_is_free(now);
            if !self.abort_doomed() {
                return;
            }
        }
    }

    fn end_what_is_free(&mut self, now: Tick) {
        for mut withdrawal in std::mem::take(&mut self.withdrawals) {
            withdrawal.pending.retain(|(grant, _)| self.hands.contains_key(grant));
            if withdrawal.deadline <= now {
                withdrawal.pending.clear();
            }
            let held: BTreeSet<Ordinal> =
                withdrawal.pending.iter().flat_map(|(grant, _)| self.hands[grant].backlog()).collect();
            let free: BTreeSet<Ordinal> = withdrawal.open.difference(&held).copied().collect();
            self.end_all(&free, withdrawal.end);
            withdrawal.open = withdrawal.open.intersection(&held).copied().collect();
            if !withdrawal.open.is_empty() {
                self.withdrawals.push(withdrawal);
            }
        }
    }

    /// Ends what waits for an end that cannot come any more; says whether there was any.
    fn abort_doomed(&mut self) -> bool {
        let is_unmeetable = |(on, kind): &(Ordinal, DepKind)| {
            let end = self.tasks[on].state;
            let met = match kind {
                DepKind::Success => end == TaskState::Finished,
                DepKind::AnyEnd => true,
                DepKind::Failure => end == TaskState::Failed,
            };
            end.is_end() && !met
        };
        let mut any = false;
        let doomed: Vec<Ordinal> = self
            .tasks
            .iter()
            .filter(|(_, task)| !task.state.is_end() && task.waits_for.iter().any(is_unmeetable))
            .map(|(id, _)| *id)
            .collect();
        for id in doomed {
            any = true;
            self.tasks.get_mut(&id).unwrap().state = TaskState::Aborted;
        }
        if any {
            self.abort_doomed();
        }
        any
    }
}

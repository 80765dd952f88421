//! What can be asked, without a side effect.

use hq_core::{GrantId, JobId, LossReason, Ordinal, TaskNumber, TaskState, Tick, WorkerId, WorkerRuntime};

use crate::{
    Scheduler,
    state::{AwayWorker, Job, LostWorker, Worker},
    view::{DelayView, JobView, TaskView, WorkerView},
};

impl Scheduler {
    /// The largest job id ever given.
    pub fn last_job(&self) -> Option<JobId> {
        (self.state.last_job > 0).then_some(JobId(self.state.last_job))
    }

    /// All jobs by id.
    pub fn jobs(&self) -> impl Iterator<Item = JobView<'_>> {
        self.state.jobs.iter().map(|(id, job)| self.view_job(*id, job))
    }

    /// One job.
    pub fn job(&self, job: JobId) -> Option<JobView<'_>> {
        Some(self.view_job(job, self.state.jobs.get(&job)?))
    }

    fn view_job<'a>(&'a self, id: JobId, job: &'a Job) -> JobView<'a> {
        let submits = job.submits.iter().filter_map(|base| {
            let submit = self.state.submits.get(base)?;
            Some((*base, &submit.submit, submit.at))
        });
        JobView {
            id,
            spec: &job.spec,
            is_open: job.is_open,
            is_bound: job.is_bound,
            counts: job.counts,
            cancel_reason: job.cancel_reason.as_deref(),
            created: job.created,
            ended: job.ended,
            submits: submits.collect(),
        }
    }

    /// One task.
    pub fn task(&self, task: Ordinal) -> Option<TaskView<'_>> {
        let state = self.state.task_state(task)?;
        let entry = self.state.records.get(task);
        let ran = entry.filter(|entry| entry.worker != WorkerId(0));
        let shown = ran.filter(|_| state != TaskState::Waiting);
        let workers = match (self.state.records.gang(task), shown) {
            (_, None) => vec![],
            (Some(gang), Some(_)) => gang.to_vec(),
            (None, Some(entry)) => vec![entry.worker],
        };
        Some(TaskView {
            state,
            instance: self.state.records.instance(task),
            variant: shown.map_or(0, |entry| entry.variant),
            workers,
            started: shown.map(|entry| entry.start),
            ended: shown.filter(|_| state.is_end()).map(|entry| entry.start.after(entry.took)),
            error: self.state.records.error(task),
            delay: self.delay(task),
        })
    }

    /// What a task waits for that is to be run again, but not yet.
    pub(crate) fn delay(&self, task: Ordinal) -> Option<DelayView<'_>> {
        let known = self.state.records.retries.get(task)?;
        let retries = known.used.iter().fold(0, |sum: u32, (_, n)| sum.saturating_add(*n));
        Some(DelayView { until: known.until?, retries, error: &known.error })
    }

    /// How many tasks of a job wait for a moment to be run again, and the first such moment.
    pub fn delayed(&self, job: JobId) -> Option<(u64, Tick)> {
        let bases = self.state.jobs.get(&job).into_iter().flat_map(|job| &job.submits);
        let ranges = bases.map(|base| self.state.range_of(*base));
        let moments = ranges.flat_map(|range| self.state.records.retries.delayed_in(range)).map(|(_, until)| until);
        moments.fold(None, |found, until| {
            let (n, first) = found.unwrap_or((0, until));
            Some((n + 1, first.min(until)))
        })
    }

    /// Job and number of a task.
    pub fn locate(&self, task: Ordinal) -> Option<(JobId, TaskNumber)> {
        let (base, submit) = self.state.submit_of(task)?;
        Some((submit.job, submit.number(task.0 - base.0)))
    }

    /// The task of that number.
    pub fn find(&self, job: JobId, number: TaskNumber) -> Option<Ordinal> {
        self.state.find(job, number)
    }

    /// The largest worker id ever given.
    pub fn last_worker(&self) -> Option<WorkerId> {
        (self.state.last_worker > 0).then_some(WorkerId(self.state.last_worker))
    }

    /// All workers that ever were in this life of the server, by id.
    pub fn workers(&self) -> impl Iterator<Item = WorkerView<'_>> {
        let mut all: Vec<WorkerView<'_>> =
            self.state.workers.iter().map(|(id, worker)| self.view_worker(*id, worker)).collect();
        all.extend(self.state.lost.iter().map(|(id, lost)| self.view_lost(*id, lost)));
        all.extend(self.state.away.iter().map(|(id, away)| self.view_away(*id, away)));
        all.sort_by_key(|worker| worker.id);
        all.into_iter()
    }

    /// One worker.
    pub fn worker(&self, worker: WorkerId) -> Option<WorkerView<'_>> {
        let live = self.state.workers.get(&worker).map(|known| self.view_worker(worker, known));
        let lost = || self.state.lost.get(&worker).map(|lost| self.view_lost(worker, lost));
        live.or_else(lost).or_else(|| self.state.away.get(&worker).map(|away| self.view_away(worker, away)))
    }

    /// Whether a worker has lost its link and may come back.
    pub fn is_away(&self, worker: WorkerId) -> bool {
        self.state.away.contains_key(&worker)
    }

    /// Workers that have lost their links and may come back.
    pub fn away(&self) -> impl Iterator<Item = WorkerId> + '_ {
        self.state.away.keys().copied()
    }

    /// As one that is lost, as long as it does not come back.
    fn view_away<'a>(&'a self, id: WorkerId, away: &'a AwayWorker) -> WorkerView<'a> {
        WorkerView {
            id,
            config: &away.worker.config,
            joined: away.worker.joined,
            lost: Some((away.since, LossReason::ConnectionLost)),
            runtime: None,
            last_task: self.last_task(away.worker.last_task),
        }
    }

    fn view_worker<'a>(&'a self, id: WorkerId, worker: &'a Worker) -> WorkerView<'a> {
        let gang = worker.gang.and_then(|grant| self.state.grants.get(&grant));
        let runtime = match gang {
            Some(gang) => WorkerRuntime::Gang { main: gang.worker == id },
            None => {
                let lanes = || worker.grants.iter().filter_map(|grant| self.state.grants.get(grant));
                WorkerRuntime::Single {
                    assigned: lanes().filter(|lane| !lane.tasks.is_empty()).count() as u64,
                    running: lanes().filter(|lane| lane.running.is_some()).count() as u64,
                    reserved: self.is_reserved(id),
                }
            }
        };
        WorkerView {
            id,
            config: &worker.config,
            joined: worker.joined,
            lost: None,
            runtime: Some(runtime),
            last_task: self.last_task(worker.last_task),
        }
    }

    fn view_lost<'a>(&'a self, id: WorkerId, lost: &'a LostWorker) -> WorkerView<'a> {
        WorkerView {
            id,
            config: &lost.config,
            joined: lost.joined,
            lost: Some((lost.lost, lost.reason)),
            runtime: None,
            last_task: self.last_task(lost.last_task),
        }
    }

    fn last_task(&self, last: Option<(Ordinal, Tick)>) -> Option<(JobId, TaskNumber, Tick)> {
        let (task, at) = last?;
        let (job, number) = self.locate(task)?;
        Some((job, number, at))
    }

    /// What a worker that is there has free, gangs left aside.
    pub fn pools(&self, worker: WorkerId) -> Option<&crate::pool::Pools> {
        self.state.workers.get(&worker).map(|worker| &worker.pools)
    }

    /// The worker (of a gang: the main one) of a grant that is open.
    pub fn grant_worker(&self, grant: GrantId) -> Option<WorkerId> {
        self.state.grants.get(&grant).map(|grant| grant.worker)
    }

    /// Whether tasks of an open grant are being called back.
    pub fn is_called_back(&self, grant: GrantId) -> bool {
        self.mind.lanes.get(&grant).is_some_and(|lane| !lane.recalls.is_empty())
    }

    /// Whether two cores have the same lasting state: jobs, tasks, workers, grants and what waits.
    pub fn same_state(&self, other: &Self) -> bool {
        self.state == other.state
    }
}

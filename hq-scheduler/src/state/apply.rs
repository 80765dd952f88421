use std::sync::Arc;

use hq_core::{
    Allocation, ClassId, Fact, GrantId, JobId, JobSpec, JobTarget, LossReason, Ordinal, OrdinalRange, Record,
    TaskCounts, TaskState, Tick, WorkerConfig, WorkerId,
};

use super::{Bereft, Effects, Entry, Grant, Job, LostWorker, State, Worker};
use crate::pool::Pools;

impl State {
    /// Makes `record` true.
    ///
    /// # Errors
    /// Where it contradicts what is; the state may then be half changed and must not be used.
    pub(crate) fn apply(&mut self, record: &Record, fx: &mut Effects) -> Result<(), String> {
        let at = record.at;
        match &record.fact {
            Fact::Boot { epoch, server_uid, .. } => {
                self.boot(at, fx);
                self.epoch = *epoch;
                self.last_grant = 0;
                self.server_uid.clone_from(server_uid);
            }
            Fact::JobOpened { job, spec } => self.add_job(at, *job, spec, true),
            Fact::Submitted { job, base, submit } => {
                // A snapshot leaves out what was forgotten, and damage leaves a gap.
                if base.0 < self.next_ordinal {
                    return Err(format!("a submit at ordinal {base} does not follow {}", self.next_ordinal));
                }
                submit.check().map_err(str::to_owned)?;
                if let JobTarget::New(spec) = &submit.job {
                    self.add_job(at, *job, spec, false);
                }
                self.add_submit(at, *job, *base, submit, fx)?;
            }
            Fact::JobClosed { job } => {
                let known = self.job_mut(*job)?;
                (known.is_open, known.is_bound) = (false, false);
                self.open_gates(*job, fx);
            }
            Fact::JobBound { job } => self.job_mut(*job)?.is_bound = true,
            Fact::JobCanceled { job, reason } => {
                if reason.is_some() {
                    self.job_mut(*job)?.cancel_reason.clone_from(reason);
                }
            }
            Fact::JobForgotten { job } => self.forget(*job, fx),
            Fact::PolicyChanged { order, placement } => self.policy = Some((order.clone(), placement.clone())),
            Fact::WorkerJoined { worker, config } => self.add_worker(at, *worker, config, fx),
            Fact::WorkerLost { worker, reason } => self.lose_worker(at, *worker, *reason, fx)?,
            Fact::WorkerAway { worker } => self.go_away(at, *worker, fx)?,
            Fact::WorkerReturned { worker, kept } => self.come_back(*worker, kept, fx)?,
            Fact::GrantOpened { grant, workers, class, variant, allocation, tasks } => {
                self.leave_queues(*grant, tasks, fx)?;
                // In a snapshot the tasks may be gone from the books.
                let class = class.filter(|class| self.in_snapshot && self.classes.has(*class));
                let class = class.map_or_else(|| self.class_of(*grant, tasks), Ok)?;
                self.open_grant(at, *grant, workers, class, *variant, allocation, tasks)?;
            }
            Fact::GrantsOpened(lanes) => self.open_lanes(at, lanes, fx)?,
            Fact::GrantExtended { grant, tasks } => {
                self.leave_queues(*grant, tasks, fx)?;
                let lane = self.grant_mut(*grant)?;
                tasks.iter().for_each(|range| lane.tasks.push(*range));
            }
            Fact::GrantReturned { grant, tasks } => self.take_back(*grant, tasks, fx)?,
            Fact::GrantClosed { grant } => self.close_grant(*grant, fx)?,
            Fact::TaskStarted { grant, task, start } => self.start(*grant, *task, *start)?,
            Fact::TasksFinished { grant, ends } => self.finish(*grant, ends, fx)?,
            Fact::TaskFailed { grant, task, start, error } => self.fail(at, *grant, *task, *start, error, fx)?,
            Fact::TaskRetried { grant, task, start, rule, until, error } => {
                self.retry(at, *grant, *task, *start, *rule, *until, error, fx)?
            }
            Fact::RetriesDue { tasks } => self.end_delays(tasks, fx),
            Fact::TaskKilled { grant, task } => self.leave_lane(*grant, *task)?,
            Fact::TasksCanceled { tasks } => self.end_ranges(tasks, TaskState::Canceled, at, fx),
            Fact::TasksAborted { tasks } => self.end_ranges(tasks, TaskState::Aborted, at, fx),
            Fact::SnapshotBegun { head } => self.begin_snapshot(head)?,
            Fact::TasksMarked { marks } => self.mark_tasks(marks, fx),
            Fact::TasksRan { worker, variant, state, runs } => {
                self.restore_runs(at, *worker, *variant, *state, runs, fx)
            }
            Fact::SnapshotEnded { tail } => self.end_snapshot(tail),
            Fact::RecordsLost { .. } => {
                // The end of a snapshot may be what was lost.
                if std::mem::take(&mut self.in_snapshot) {
                    self.classes.forget_unused();
                }
                self.lose_all_workers(fx);
            }
            Fact::QueueCreated { .. }
            | Fact::QueueRemoved { .. }
            | Fact::AllocationIntended { .. }
            | Fact::AllocationQueued { .. }
            | Fact::AllocationStarted { .. }
            | Fact::AllocationEnded { .. }
            | Fact::QueuePaused { .. }
            | Fact::QueueResumed { .. }
            | Fact::QueueClosing { .. }
            | Fact::QueueLearned { .. }
            | Fact::WorkerOverview { .. }
            | Fact::FlushWanted
            | Fact::SessionGiven { .. }
            | Fact::ServerStopped => {}
        }
        Ok(())
    }

    fn job_mut(&mut self, job: JobId) -> Result<&mut Job, String> {
        self.jobs.get_mut(&job).map(|job| &mut **job).ok_or_else(|| format!("job {job} does not exist"))
    }

    fn grant_mut(&mut self, grant: GrantId) -> Result<&mut Grant, String> {
        self.grants.get_mut(&grant).ok_or_else(|| format!("grant {grant} does not exist"))
    }

    fn add_job(&mut self, at: Tick, id: JobId, spec: &JobSpec, is_open: bool) {
        self.last_job = self.last_job.max(id.0);
        let job = Job {
            spec: spec.clone(),
            is_open,
            is_bound: false,
            counts: TaskCounts::default(),
            cancel_reason: None,
            created: at,
            ended: None,
            submits: vec![],
            by_number: Default::default(),
            top: None,
            cross: Default::default(),
        };
        self.jobs.insert(id, Box::new(job));
    }

    pub(crate) fn forget(&mut self, id: JobId, fx: &mut Effects) {
        let Some(job) = self.jobs.remove(&id) else { return };
        for base in job.submits {
            let range = self.range_of(base);
            self.records.remove(range);
            if let Some(gone) = self.submits.remove(&base) {
                self.owners.release(&gone.submit.owner);
                gone.keys.iter().for_each(|key| self.release_class(key.class, fx));
            }
        }
    }

    fn add_worker(&mut self, at: Tick, id: WorkerId, config: &Arc<WorkerConfig>, fx: &mut Effects) {
        self.last_worker = self.last_worker.max(id.0);
        let worker = Worker {
            config: config.clone(),
            joined: at,
            pools: Pools::new(&config.resources),
            grants: Default::default(),
            gang: None,
            last_lane: None,
            last_task: None,
        };
        self.workers.insert(id, worker);
        fx.freed.insert(id);
    }

    fn lose_worker(&mut self, at: Tick, id: WorkerId, reason: LossReason, fx: &mut Effects) -> Result<(), String> {
        let worker = match self.workers.remove(&id) {
            Some(worker) => {
                for grant in worker.grants.iter().copied().chain(worker.gang) {
                    self.lose_member(grant, id, reason, fx);
                }
                worker
            }
            None => self.give_up(id, reason, fx).ok_or_else(|| format!("worker {id} does not exist"))?,
        };
        fx.freed.remove(&id);
        let lost =
            LostWorker { config: worker.config, joined: worker.joined, lost: at, reason, last_task: worker.last_task };
        self.lost.insert(id, lost);
        Ok(())
    }

    /// A gang goes on without a member, and ends with its main worker.
    pub(super) fn lose_member(&mut self, grant_id: GrantId, worker: WorkerId, reason: LossReason, fx: &mut Effects) {
        let Some(grant) = self.any_grant_mut(grant_id) else { return };
        if grant.worker != worker {
            grant.others.retain(|member| *member != worker);
            return;
        }
        let grant = self.grants.remove(&grant_id).or_else(|| self.suspended.remove(&grant_id));
        let Some(grant) = grant else { return };
        self.release_class(grant.class, fx);
        for member in &grant.others {
            if let Some(member_state) = self.any_worker_mut(*member) {
                member_state.gang = None;
            }
            if self.workers.contains_key(member) {
                fx.freed.insert(*member);
            }
        }
        // The first task runs, or may have begun without a word: else one that kills its worker at once would never be found.
        let first = grant.running.or_else(|| grant.next());
        for task in grant.tasks.iter().flat_map(OrdinalRange::iter) {
            let bereft = Bereft { task, reason, is_known: grant.running == Some(task) };
            self.requeue(task, (first == Some(task)).then_some((worker, bereft)), fx);
        }
    }

    /// Workers of the life before are gone, but for those that may come back, and one id is left out.
    fn boot(&mut self, at: Tick, fx: &mut Effects) {
        let workers: Vec<(WorkerId, bool)> =
            self.workers.iter().map(|(id, worker)| (*id, worker.config.on_server_lost.reconnects())).collect();
        for (worker, comes_back) in workers {
            // A worker of this map always exists.
            let _ = match comes_back {
                true => self.go_away(at, worker, fx),
                false => self.lose_worker(Tick(0), worker, LossReason::ServerEnded, fx),
            };
        }
        self.lost.clear();
        if self.last_worker > 0 {
            self.last_worker = self.last_worker.saturating_add(1);
        }
    }

    /// All workers are gone, whether they may come back or not: what they had been told is not known.
    fn lose_all_workers(&mut self, fx: &mut Effects) {
        let workers: Vec<WorkerId> = self.workers.keys().chain(self.away.keys()).copied().collect();
        for worker in workers {
            // A worker of this map always exists.
            let _ = self.lose_worker(Tick(0), worker, LossReason::ServerEnded, fx);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what the fact says")]
    fn open_grant(
        &mut self,
        at: Tick,
        id: GrantId,
        workers: &[WorkerId],
        class: ClassId,
        variant: u8,
        allocation: &Arc<Allocation>,
        tasks: &[OrdinalRange],
    ) -> Result<(), String> {
        let is_gang = self.classes.get(class).is_gang();
        for member in workers {
            let worker = self.workers.get_mut(member).ok_or_else(|| format!("worker {member} does not exist"))?;
            if is_gang {
                worker.gang = Some(id);
            } else if worker.pools.take(allocation) {
                worker.grants.insert(id);
            } else {
                return Err(format!("worker {member} does not have free what grant {id} takes"));
            }
            worker.last_lane = Some(id);
        }
        self.last_grant = id.n;
        self.classes.hold(class);
        let grant = Grant {
            worker: workers.first().copied().unwrap_or_default(),
            others: workers.iter().skip(1).copied().collect(),
            class,
            variant,
            allocation: allocation.clone(),
            opened: at,
            tasks: tasks.iter().copied().collect(),
            running: None,
        };
        self.grants.insert(id, grant);
        Ok(())
    }

    /// The class of the tasks that a lane begins with.
    pub(super) fn class_of(&self, id: GrantId, tasks: &[OrdinalRange]) -> Result<ClassId, String> {
        let first = tasks.first().and_then(|range| self.key_of(range.start));
        first.map(|key| key.class).ok_or_else(|| format!("grant {id} has no tasks that are known"))
    }

    fn release_class(&mut self, class: ClassId, fx: &mut Effects) {
        fx.gone.extend(self.classes.release(class).map(|gone| (class, gone)));
    }

    /// Tasks that wait are given to a lane.
    pub(super) fn leave_queues(&mut self, id: GrantId, tasks: &[OrdinalRange], fx: &mut Effects) -> Result<(), String> {
        for range in tasks {
            let own = self.submit_at_or_after(range.start);
            let own = own.filter(|own| own.start <= range.start && range.end() <= own.end());
            let waited: u64 = match own {
                Some(own) => self.remove_ready(own.start, *range, fx),
                None => {
                    let parts = self.split_by_submit(*range);
                    parts.into_iter().map(|(base, part)| self.remove_ready(base, part, fx)).sum()
                }
            };
            // Lanes in a snapshot may hold what has ended.
            if waited != range.len && !self.in_snapshot {
                return Err(format!("grant {id} gets tasks that do not wait, at ordinal {}", range.start));
            }
        }
        Ok(())
    }

    fn take_back(&mut self, id: GrantId, tasks: &[OrdinalRange], fx: &mut Effects) -> Result<(), String> {
        let mut returned = Vec::new();
        let grant = self.grant_mut(id)?;
        for range in tasks {
            returned.extend(grant.tasks.remove(*range));
        }
        for range in returned {
            for (base, part) in self.split_by_submit(range) {
                let waiting: Vec<OrdinalRange> = self.unfinished(base, part).iter().collect();
                for run in waiting {
                    self.insert_ready(run, fx);
                }
            }
        }
        Ok(())
    }

    pub(super) fn close_grant(&mut self, id: GrantId, fx: &mut Effects) -> Result<(), String> {
        let grant = self.grants.remove(&id).ok_or_else(|| format!("grant {id} does not exist"))?;
        self.release_class(grant.class, fx);
        for member in grant.workers() {
            let Some(worker) = self.any_worker_mut(member) else { continue };
            if worker.gang == Some(id) {
                worker.gang = None;
            } else {
                worker.grants.remove(&id);
                worker.pools.release(&grant.allocation);
            }
            if self.workers.contains_key(&member) {
                fx.freed.insert(member);
            }
        }
        Ok(())
    }

    fn start(&mut self, id: GrantId, task: Ordinal, start: Tick) -> Result<(), String> {
        let grant = self.grant_mut(id)?;
        grant.running = Some(task);
        let (main, variant) = (grant.worker, grant.variant);
        let gang = (!grant.others.is_empty()).then(|| grant.workers().collect::<Vec<WorkerId>>());
        let entry = Entry { state: TaskState::Running, variant, worker: main, start, took: Default::default() };
        if let Some((base, submit)) = self.submit_of(task)
            && self.state_in(submit, task) == TaskState::Waiting
        {
            self.records.set(task, entry);
            self.count(base, TaskState::Waiting, TaskState::Running, 1);
        }
        for member in gang.as_deref().unwrap_or(&[main]) {
            if let Some(worker) = self.workers.get_mut(member) {
                worker.last_task = Some((task, start));
            }
        }
        if let Some(workers) = gang
            && self.submit_of(task).is_some()
        {
            self.records.set_gang(task, workers);
        }
        Ok(())
    }

    fn fail(
        &mut self,
        at: Tick,
        grant: Option<GrantId>,
        task: Ordinal,
        start: Option<Tick>,
        error: &str,
        fx: &mut Effects,
    ) -> Result<(), String> {
        let mut entry = self.records.get(task).unwrap_or(Entry {
            state: TaskState::Failed,
            variant: 0,
            worker: WorkerId(0),
            start: at,
            took: Default::default(),
        });
        if let Some(id) = grant {
            let lane = self.grant_mut(id)?;
            (entry.worker, entry.variant) = (lane.worker, lane.variant);
            let gang = (!lane.others.is_empty()).then(|| lane.workers().collect());
            self.leave_lane(id, task)?;
            if let Some(workers) = gang {
                self.records.set_gang(task, workers);
            }
            entry.start = start.unwrap_or(at);
            entry.took = at.since(entry.start);
            if let Some(worker) = self.workers.get_mut(&entry.worker) {
                worker.last_task = Some((task, entry.start));
            }
        } else if let Some((base, _)) = self.submit_of(task) {
            self.remove_ready(base, OrdinalRange::one(task), fx);
        }
        entry.state = TaskState::Failed;
        self.end_one(task, entry, at, fx);
        self.records.set_error(task, error.to_owned());
        Ok(())
    }

    pub(super) fn leave_lane(&mut self, id: GrantId, task: Ordinal) -> Result<(), String> {
        let grant = self.grant_mut(id)?;
        grant.tasks.remove(OrdinalRange::one(task));
        if grant.running == Some(task) {
            grant.running = None;
        }
        Ok(())
    }
}

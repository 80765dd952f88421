use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use hq_core::{
    Allocation, DepKind, Epoch, Fact, GrantId, Instance, JobId, JobTarget, KeptGrant, LossReason, Ordinal,
    OrdinalRange, Profile, Record, Request, Submit, TaskCounts, TaskIds, TaskNumber, TaskState, Tick, WorkerConfig,
    WorkerId,
};

/// The books as the facts tell of them, task by task: a second, naive implementation to hold the core's against.
///
/// It believes each fact; whether a fact is possible is what the [invariants](crate::invariants) ask before it is applied.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// The latest boot.
    pub epoch: Epoch,
    /// Jobs that are in the books.
    pub jobs: BTreeMap<JobId, ModelJob>,
    /// Their tasks.
    pub tasks: BTreeMap<Ordinal, ModelTask>,
    /// Workers that are there.
    pub workers: BTreeMap<WorkerId, ModelWorker>,
    /// Workers that were there in this life of the server: when and how they went.
    pub lost: BTreeMap<WorkerId, (Tick, LossReason)>,
    /// Workers that lost their links and may come back.
    pub away: BTreeMap<WorkerId, ModelWorker>,
    /// Open grants.
    pub grants: BTreeMap<GrantId, ModelGrant>,
    /// Grants of main workers that are away.
    pub suspended: BTreeMap<GrantId, ModelGrant>,
    /// Grants of boots before that go on.
    pub adopted: BTreeSet<GrantId>,
    /// Tasks that have not ended.
    pub unfinished: BTreeSet<Ordinal>,
    /// Order and placement, where they were chosen.
    pub policy: Option<(String, String)>,
}

/// A job.
#[derive(Clone, Debug, Default)]
pub struct ModelJob {
    /// Whether more tasks may come.
    pub is_open: bool,
    /// With more failed tasks than that, the rest is aborted.
    pub max_fails: Option<u32>,
    /// In order of their ordinals.
    pub tasks: Vec<Ordinal>,
}

/// A task.
#[derive(Clone, Debug)]
pub struct ModelTask {
    /// Its job.
    pub job: JobId,
    /// Its number there.
    pub number: TaskNumber,
    /// What it belongs to.
    submit: Arc<Submit>,
    index: u64,
    /// What it waits for.
    pub waits_for: Vec<(Ordinal, DepKind)>,
    /// What waits for it.
    pub awaited_by: Vec<Ordinal>,
    /// Where it is in its life.
    pub state: TaskState,
    /// How often it came back from a worker that was lost.
    pub instance: Instance,
    /// The grant that holds it.
    pub grant: Option<GrantId>,
    /// Whether a grant ever held it.
    pub was_granted: bool,
    /// When it came.
    pub submitted: Tick,
    /// It is to be run again, not before then.
    pub until: Option<Tick>,
}

impl ModelTask {
    /// What it needs.
    pub fn profile(&self) -> &Profile {
        self.submit.profile(self.index)
    }

    /// What it needs of the places it gets in that variant.
    pub fn request(&self, variant: u8) -> Option<&Request> {
        self.profile().variants.get(variant)
    }

    /// Which runner it needs.
    pub fn kind(&self) -> &str {
        &self.submit.kind
    }

    /// Whether one of the tasks it waits for has ended in a way that keeps it from ever running.
    pub fn is_doomed(&self, model: &Model) -> bool {
        self.waits_for
            .iter()
            .any(|(on, kind)| model.tasks.get(on).is_some_and(|on| on.state.is_end() && !is_met(*kind, on.state)))
    }

    /// Whether all it waits for has ended as wanted.
    pub fn is_ready(&self, model: &Model) -> bool {
        self.waits_for
            .iter()
            .all(|(on, kind)| model.tasks.get(on).is_some_and(|on| on.state.is_end() && is_met(*kind, on.state)))
    }
}

const fn is_met(kind: DepKind, end: TaskState) -> bool {
    match kind {
        DepKind::Success => matches!(end, TaskState::Finished),
        DepKind::AnyEnd => true,
        DepKind::Failure => matches!(end, TaskState::Failed),
    }
}

/// A worker.
#[derive(Clone, Debug)]
pub struct ModelWorker {
    /// What it said of itself.
    pub config: Arc<WorkerConfig>,
    /// When it came.
    pub joined: Tick,
}

impl ModelWorker {
    /// When it ends by itself.
    pub fn deadline(&self) -> Option<Tick> {
        self.config.time_limit.map(|limit| self.joined.after(limit))
    }
}

/// A lane or a gang.
#[derive(Clone, Debug)]
pub struct ModelGrant {
    /// The main one first; a gang may lose others.
    pub workers: Vec<WorkerId>,
    /// Which of the requests of its tasks.
    pub variant: u8,
    /// Empty for a gang.
    pub allocation: Allocation,
    /// What it holds.
    pub tasks: BTreeSet<Ordinal>,
    /// What is known to run.
    pub running: Option<Ordinal>,
    /// Whether it was given whole workers.
    pub is_gang: bool,
}

/// The ordinals of some ranges, one by one.
pub(crate) fn each(ranges: &[OrdinalRange]) -> impl Iterator<Item = Ordinal> + '_ {
    ranges.iter().flat_map(|range| range.iter())
}

impl Model {
    /// Tasks of a job by state.
    pub fn counts(&self, job: JobId) -> TaskCounts {
        let mut counts = TaskCounts::default();
        for task in self.jobs.get(&job).into_iter().flat_map(|job| &job.tasks).filter_map(|task| self.tasks.get(task)) {
            *counts.of_mut(task.state) += 1;
        }
        counts
    }

    /// Open grants that a worker is part of, suspended ones as well.
    pub fn grants_of(&self, worker: WorkerId) -> impl Iterator<Item = (GrantId, &ModelGrant)> {
        let all = self.grants.iter().chain(&self.suspended);
        all.filter(move |(_, grant)| grant.workers.contains(&worker)).map(|(id, grant)| (*id, grant))
    }

    /// The order that decides.
    pub fn order(&self) -> &str {
        self.policy.as_ref().map_or("priority", |(order, _)| order)
    }

    /// The placement that decides.
    pub fn placement(&self) -> &str {
        self.policy.as_ref().map_or("pack", |(_, placement)| placement)
    }

    /// Applies a record.
    pub fn apply(&mut self, record: &Record) {
        match &record.fact {
            Fact::Boot { epoch, .. } => {
                for (worker, known) in self.workers.clone() {
                    match known.config.on_server_lost.reconnects() {
                        true => self.go_away(worker),
                        false => self.lose(record.at, worker, LossReason::ServerEnded),
                    }
                }
                self.lost.clear();
                self.epoch = *epoch;
            }
            Fact::JobOpened { job, spec } => {
                self.jobs.insert(*job, ModelJob { is_open: true, max_fails: spec.max_fails, tasks: vec![] });
            }
            Fact::Submitted { job, base, submit } => self.submit(record.at, *job, *base, submit),
            Fact::JobClosed { job } => {
                if let Some(job) = self.jobs.get_mut(job) {
                    job.is_open = false;
                }
            }
            Fact::JobForgotten { job } => {
                for task in self.jobs.remove(job).map_or(vec![], |job| job.tasks) {
                    self.tasks.remove(&task);
                }
            }
            Fact::PolicyChanged { order, placement } => self.policy = Some((order.clone(), placement.clone())),
            Fact::WorkerJoined { worker, config } => {
                self.workers.insert(*worker, ModelWorker { config: config.clone(), joined: record.at });
            }
            Fact::WorkerLost { worker, reason } => self.lose(record.at, *worker, *reason),
            Fact::WorkerAway { worker } => self.go_away(*worker),
            Fact::WorkerReturned { worker, kept } => self.come_back(*worker, kept),
            Fact::GrantOpened { grant, workers, variant, allocation, tasks, .. } => {
                let first = each(tasks).next().and_then(|task| self.tasks.get(&task));
                let is_gang = first.is_some_and(|task| task.profile().variants.is_gang());
                let (workers, allocation) = (workers.clone(), (**allocation).clone());
                let opened = ModelGrant {
                    workers,
                    variant: *variant,
                    allocation,
                    tasks: BTreeSet::new(),
                    running: None,
                    is_gang,
                };
                self.grants.insert(*grant, opened);
                self.give(*grant, tasks);
            }
            Fact::GrantExtended { grant, tasks } => self.give(*grant, tasks),
            Fact::GrantReturned { grant, tasks } => each(tasks).for_each(|task| self.leave(*grant, task)),
            Fact::GrantClosed { grant } => self.close(*grant),
            Fact::TaskStarted { grant, task, .. } => {
                if let Some(grant) = self.grants.get_mut(grant) {
                    grant.running = Some(*task);
                }
                self.set(*task, TaskState::Running);
            }
            Fact::TasksFinished { grant, ends } => {
                for task in each(&ends.tasks) {
                    self.leave(*grant, task);
                    self.set(task, TaskState::Finished);
                }
            }
            Fact::TaskFailed { grant, task, .. } => {
                if let Some(grant) = grant {
                    self.leave(*grant, *task);
                }
                self.set(*task, TaskState::Failed);
            }
            Fact::TaskRetried { grant, task, until, .. } => {
                if let Some(grant) = grant {
                    self.leave(*grant, *task);
                }
                if let Some(known) = self.tasks.get_mut(task) {
                    known.state = TaskState::Waiting;
                    known.instance.0 += u32::from(grant.is_some());
                    known.until = Some(*until).filter(|until| *until > record.at);
                }
            }
            Fact::RetriesDue { tasks } => {
                for task in each(tasks) {
                    if let Some(known) = self.tasks.get_mut(&task) {
                        known.until = None;
                    }
                }
            }
            Fact::TaskKilled { grant, task } => self.leave(*grant, *task),
            Fact::TasksCanceled { tasks } => each(tasks).for_each(|task| self.set(task, TaskState::Canceled)),
            Fact::TasksAborted { tasks } => each(tasks).for_each(|task| self.set(task, TaskState::Aborted)),
            _ => {}
        }
    }

    fn submit(&mut self, at: Tick, job_id: JobId, base: Ordinal, submit: &Arc<Submit>) {
        if let JobTarget::New(spec) = &submit.job {
            self.jobs.entry(job_id).or_default().max_fails = spec.max_fails;
        }
        let TaskIds::Given(ids) = &submit.ids else { return };
        for (index, number) in (0..).zip(ids.iter()) {
            let id = base.plus(index);
            let job = self.jobs.entry(job_id).or_default();
            job.tasks.push(id);
            let mut waits_for = Vec::new();
            for (on, kind) in submit.deps.of(index) {
                let same_job = |task: &&Ordinal| self.tasks.get(task).is_some_and(|task| task.number == on);
                if let Some(on) = job.tasks.iter().find(same_job).copied() {
                    waits_for.push((on, kind));
                }
            }
            for (on, _) in &waits_for {
                if let Some(on) = self.tasks.get_mut(on) {
                    on.awaited_by.push(id);
                }
            }
            let task = ModelTask {
                job: job_id,
                number: TaskNumber(number),
                submit: submit.clone(),
                index,
                waits_for,
                awaited_by: vec![],
                state: TaskState::Waiting,
                instance: Instance(0),
                grant: None,
                was_granted: false,
                submitted: at,
                until: None,
            };
            self.tasks.insert(id, task);
            self.unfinished.insert(id);
        }
        self.jobs.entry(job_id).or_default();
    }

    fn give(&mut self, grant_id: GrantId, tasks: &[OrdinalRange]) {
        for id in each(tasks) {
            if let Some(grant) = self.grants.get_mut(&grant_id) {
                grant.tasks.insert(id);
            }
            if let Some(task) = self.tasks.get_mut(&id) {
                task.grant = Some(grant_id);
                task.was_granted = true;
            }
        }
    }

    fn leave(&mut self, grant: GrantId, id: Ordinal) {
        if let Some(grant) = self.grants.get_mut(&grant) {
            grant.tasks.remove(&id);
            grant.running.take_if(|running| *running == id);
        }
        if let Some(task) = self.tasks.get_mut(&id) {
            task.grant.take_if(|of| *of == grant);
        }
    }

    fn close(&mut self, id: GrantId) {
        let closed = self.grants.remove(&id).or_else(|| self.suspended.remove(&id));
        self.adopted.remove(&id);
        for task in closed.map_or(BTreeSet::new(), |grant| grant.tasks) {
            if let Some(task) = self.tasks.get_mut(&task) {
                task.grant.take_if(|of| *of == id);
            }
        }
    }

    fn set(&mut self, id: Ordinal, state: TaskState) {
        if state.is_end() {
            self.unfinished.remove(&id);
        }
        if let Some(task) = self.tasks.get_mut(&id) {
            task.state = state;
        }
    }

    fn go_away(&mut self, worker: WorkerId) {
        self.away.extend(self.workers.remove_entry(&worker));
        let own = |grant: &ModelGrant| grant.workers.first() == Some(&worker);
        let own: Vec<GrantId> = self.grants.iter().filter(|(_, grant)| own(grant)).map(|(id, _)| *id).collect();
        for id in own {
            let Some(grant) = self.grants.remove(&id) else { continue };
            if let Some(task) = grant.running.and_then(|task| self.tasks.get_mut(&task))
                && task.state == TaskState::Running
            {
                task.state = TaskState::Waiting;
            }
            self.suspended.insert(id, grant);
        }
    }

    fn come_back(&mut self, worker: WorkerId, kept: &[KeptGrant]) {
        self.workers.extend(self.away.remove_entry(&worker));
        let own = |grant: &ModelGrant| grant.workers.first() == Some(&worker);
        let own: Vec<GrantId> = self.suspended.iter().filter(|(_, grant)| own(grant)).map(|(id, _)| *id).collect();
        for id in own {
            self.grants.extend(self.suspended.remove_entry(&id));
            let lane = kept.iter().find(|kept| kept.grant == id);
            let tasks: BTreeSet<Ordinal> = lane.iter().flat_map(|lane| each(&lane.tasks)).collect();
            let held = self.grants.get(&id).map(|grant| (grant.tasks.clone(), grant.running)).unwrap_or_default();
            for gone in held.0.difference(&tasks) {
                self.leave(id, *gone);
                if let Some(task) = self.tasks.get_mut(gone).filter(|task| !task.state.is_end()) {
                    task.instance.0 += 1;
                }
            }
            if let Some(task) = held.1.filter(|task| tasks.contains(task)).and_then(|task| self.tasks.get_mut(&task))
                && task.state == TaskState::Waiting
            {
                task.state = TaskState::Running;
            }
            match lane {
                Some(_) => _ = self.adopted.insert(id),
                None => self.close(id),
            }
        }
    }

    fn lose(&mut self, at: Tick, worker: WorkerId, reason: LossReason) {
        self.workers.remove(&worker);
        self.away.remove(&worker);
        self.lost.insert(worker, (at, reason));
        let held: Vec<GrantId> = self.grants_of(worker).map(|(id, _)| id).collect();
        for id in held {
            let grant = self.grants.get_mut(&id).or_else(|| self.suspended.get_mut(&id));
            let Some(grant) = grant else { continue };
            if grant.workers.first() != Some(&worker) {
                grant.workers.retain(|member| *member != worker);
                continue;
            }
            for task in grant.tasks.clone() {
                let Some(task) = self.tasks.get_mut(&task).filter(|task| !task.state.is_end()) else { continue };
                task.state = TaskState::Waiting;
                task.instance.0 += 1;
            }
            self.close(id);
        }
    }
}

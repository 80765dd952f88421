use std::{collections::BTreeMap, sync::Arc};

use hq_core::{
    AllocationState, BatchJob, Fact, LossReason, PauseCause, QueueId, QueueSpec, Span, Tick, WorkerConfig, WorkerId,
};

/// Allocations of a queue that have ended are remembered, the latest ones.
const ENDED_MAX: usize = 1000;

/// What queues and allocations there are. It changes by [`apply`](Self::apply) alone, live as in a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Book {
    pub(super) queues: BTreeMap<QueueId, Queue>,
    last_queue: u32,
    /// Workers that are there and live in an allocation of a queue.
    workers: BTreeMap<WorkerId, Home>,
    /// Workers that are there and live in an allocation that no queue knows, or not yet.
    strangers: BTreeMap<WorkerId, Known>,
    /// Workers of an earlier life of the server that may come back.
    away: BTreeMap<WorkerId, Known>,
}

/// When a worker came, and what it said of itself.
type Known = (Tick, Arc<WorkerConfig>);

/// Where a worker lives.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Home {
    queue: QueueId,
    number: u64,
    config: Arc<WorkerConfig>,
}

/// A queue and its allocations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// How it asks.
    pub spec: Arc<QueueSpec>,
    /// Why it asks for nothing, if so.
    pub paused: Option<PauseCause>,
    /// It goes once none of its allocations is left.
    pub is_closing: bool,
    /// What its last worker said of itself.
    pub known: Option<Arc<WorkerConfig>>,
    /// Allocations by number, from 1 on: those that have not ended, and the latest of those that have.
    pub allocations: BTreeMap<u64, Allocation>,
    /// Allocations ever intended.
    pub(super) count: u64,
}

/// One allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The engine's name for it.
    pub key: String,
    /// Workers asked for.
    pub workers: u32,
    /// The backend's name for it; none while its fate is not known.
    pub id: Option<String>,
    /// Where its script and outputs are.
    pub dir: Option<String>,
    /// Since when the backend has it.
    pub queued: Option<Tick>,
    /// Its beginning.
    pub started: Option<Tick>,
    /// Its end, and what went wrong.
    pub ended: Option<(Tick, Option<String>)>,
    /// Its workers that are there, and since when.
    pub here: BTreeMap<WorkerId, Tick>,
    /// Its workers that have come and gone: why, and how long they lived.
    pub gone: BTreeMap<WorkerId, (LossReason, Span)>,
    /// Workers of it were there when an earlier server ended; whether they are now is not known.
    pub had_workers: bool,
}

impl Allocation {
    const fn new(key: String, workers: u32, dir: Option<String>) -> Self {
        Self {
            key,
            workers,
            id: None,
            dir,
            queued: None,
            started: None,
            ended: None,
            here: BTreeMap::new(),
            gone: BTreeMap::new(),
            had_workers: false,
        }
    }

    /// Whether a worker of it has come.
    pub fn has_had_workers(&self) -> bool {
        self.had_workers || !self.here.is_empty() || !self.gone.is_empty()
    }

    /// Whether it has not ended.
    pub const fn is_active(&self) -> bool {
        self.ended.is_none()
    }

    /// Whether it has begun and not ended.
    pub const fn is_running(&self) -> bool {
        self.is_active() && self.started.is_some()
    }

    /// Where it is in its life.
    pub const fn state(&self) -> AllocationState {
        match (&self.ended, self.started) {
            (Some((_, Some(_))), _) => AllocationState::Failed,
            (Some((_, None)), _) => AllocationState::Finished,
            (None, Some(_)) => AllocationState::Running,
            (None, None) => AllocationState::Queued,
        }
    }
}

impl Queue {
    /// Allocations that have not ended.
    pub fn active(&self) -> impl Iterator<Item = (u64, &Allocation)> {
        self.allocations.iter().filter(|(_, a)| a.is_active()).map(|(n, a)| (*n, a))
    }

    /// Whether it asks for machines when they are wanted.
    pub const fn is_asking(&self) -> bool {
        self.paused.is_none() && !self.is_closing
    }

    /// Workers of allocations that have not ended, there or not.
    pub fn active_workers(&self) -> u32 {
        self.active().map(|(_, a)| a.workers).fold(0, u32::saturating_add)
    }

    pub(super) fn by_key(&self, key: &str) -> Option<(u64, &Allocation)> {
        let number = number_in(key)?;
        self.allocations.get(&number).filter(|a| a.key == key).map(|a| (number, a))
    }

    fn get_mut(&mut self, key: &str) -> Option<&mut Allocation> {
        let number = number_in(key)?;
        self.allocations.get_mut(&number).filter(|a| a.key == key)
    }

    fn forget_old(&mut self) {
        let ended = self.allocations.iter().filter(|(_, a)| !a.is_active()).map(|(n, _)| *n);
        let old: Vec<u64> = ended.rev().skip(ENDED_MAX).collect();
        for number in old {
            self.allocations.remove(&number);
        }
    }
}

/// An allocation's number is the end of its key.
fn number_in(key: &str) -> Option<u64> {
    key.rsplit('-').next()?.parse().ok()
}

impl Book {
    /// Takes what has happened. What is about nothing that is known changes nothing.
    pub fn apply(&mut self, at: Tick, fact: &Fact) {
        match fact {
            Fact::QueueCreated { queue, spec } => self.create(*queue, spec),
            Fact::QueueRemoved { queue } => {
                self.queues.remove(queue);
                self.workers.retain(|_, home| home.queue != *queue);
            }
            Fact::QueuePaused { queue, cause } => self.change(*queue, |queue| queue.paused = Some(cause.clone())),
            Fact::QueueResumed { queue } => self.change(*queue, |queue| queue.paused = None),
            Fact::QueueClosing { queue } => self.change(*queue, |queue| queue.is_closing = true),
            Fact::QueueLearned { queue, worker } => self.change(*queue, |queue| queue.known = Some(Arc::clone(worker))),
            Fact::AllocationIntended { queue, key, workers, dir } => self.change(*queue, |queue| {
                let number = number_in(key).unwrap_or(queue.count + 1);
                queue.count = queue.count.max(number);
                queue.allocations.insert(number, Allocation::new(key.clone(), *workers, dir.clone()));
            }),
            Fact::AllocationQueued { queue, key, id, .. } => {
                self.change_allocation(*queue, key, |a| {
                    a.id = Some(id.clone());
                    a.queued = Some(at);
                });
                self.know_strangers(*queue, id);
            }
            Fact::AllocationStarted { queue, key, .. } => self.change_allocation(*queue, key, |a| {
                a.started = a.started.or(Some(at));
                // It was given up too early.
                a.ended = None;
            }),
            Fact::AllocationEnded { queue, key, error, .. } => {
                self.change_allocation(*queue, key, |a| a.ended = Some((at, error.clone())));
                self.change(*queue, Queue::forget_old);
            }
            Fact::WorkerJoined { worker, config } => self.join(at, *worker, config),
            Fact::WorkerLost { worker, reason } => self.lose(at, *worker, *reason),
            Fact::WorkerReturned { worker, .. } => {
                if let Some((since, config)) = self.away.remove(worker) {
                    self.join(since, *worker, &config);
                }
            }
            Fact::Boot { .. } => self.part(),
            _ => {}
        }
    }

    /// All queues by id.
    pub fn queues(&self) -> impl Iterator<Item = (QueueId, &Queue)> {
        self.queues.iter().map(|(id, queue)| (*id, queue))
    }

    /// A queue.
    pub fn queue(&self, queue: QueueId) -> Option<&Queue> {
        self.queues.get(&queue)
    }

    /// An allocation by the engine's name for it.
    pub fn allocation(&self, queue: QueueId, key: &str) -> Option<&Allocation> {
        self.queues.get(&queue)?.by_key(key).map(|(_, a)| a)
    }

    /// Workers that are there and say that they live in this allocation, which no queue knows yet.
    pub(super) fn strangers_in(&self, id: &str) -> Vec<(WorkerId, Arc<WorkerConfig>)> {
        let is_of = |config: &WorkerConfig| config.allocation.as_ref().is_some_and(|job| job.id == id);
        let all = self.strangers.iter().filter(|(_, (_, config))| is_of(config));
        all.map(|(worker, (_, config))| (*worker, Arc::clone(config))).collect()
    }

    /// Whether a worker of an allocation is there that would come back to a server that follows, or has not come back yet.
    pub(super) fn may_come_back(&self, allocation: &Allocation) -> bool {
        let mut homes = allocation.here.keys().filter_map(|worker| self.workers.get(worker));
        let lives_there = |config: &WorkerConfig| {
            let place = config.allocation.as_ref().and_then(|job| self.find(job));
            let found = place.and_then(|(queue, number)| self.queues.get(&queue)?.allocations.get(&number));
            found.is_some_and(|found| found.key == allocation.key)
        };
        homes.any(|home| home.config.on_server_lost.reconnects())
            || self.away.values().any(|(_, config)| lives_there(config))
    }

    /// What a worker of an earlier life said of itself that may come back.
    pub(super) fn away(&self, worker: WorkerId) -> Option<Arc<WorkerConfig>> {
        self.away.get(&worker).map(|(_, config)| Arc::clone(config))
    }

    /// The allocation that a worker which is there lives in.
    pub fn of_worker(&self, worker: WorkerId) -> Option<(QueueId, u64)> {
        self.workers.get(&worker).map(|home| (home.queue, home.number))
    }

    /// The allocation that a batch job is: of those with its id one that has not ended, else the latest, since ids come back.
    pub fn find(&self, job: &BatchJob) -> Option<(QueueId, u64)> {
        let queues = self.queues.iter().filter(|(_, queue)| queue.spec.backend.eq_ignore_ascii_case(&job.manager));
        let all = queues.flat_map(|(id, queue)| queue.allocations.iter().map(|(number, a)| (*id, *number, a)));
        let same = all.filter(|(.., a)| a.id.as_deref() == Some(&job.id));
        same.max_by_key(|(.., a)| (a.is_active(), a.queued)).map(|(queue, number, _)| (queue, number))
    }

    /// The id of the next queue.
    pub(super) fn next_queue(&self) -> Option<QueueId> {
        self.last_queue.checked_add(1).map(QueueId)
    }

    fn create(&mut self, id: QueueId, spec: &Arc<QueueSpec>) {
        self.last_queue = self.last_queue.max(id.0);
        let queue = Queue {
            spec: Arc::clone(spec),
            paused: None,
            is_closing: false,
            known: None,
            allocations: BTreeMap::new(),
            count: 0,
        };
        self.queues.insert(id, queue);
    }

    fn change(&mut self, queue: QueueId, change: impl FnOnce(&mut Queue)) {
        if let Some(queue) = self.queues.get_mut(&queue) {
            change(queue);
        }
    }

    fn change_allocation(&mut self, queue: QueueId, key: &str, change: impl FnOnce(&mut Allocation)) {
        self.change(queue, |queue| {
            if let Some(allocation) = queue.get_mut(key) {
                change(allocation);
            }
        });
    }

    /// Workers may come before it is known what their allocation is called.
    fn know_strangers(&mut self, queue: QueueId, id: &str) {
        let Some(backend) = self.queues.get(&queue).map(|queue| queue.spec.backend.clone()) else { return };
        let is_of = |config: &WorkerConfig| {
            let job = config.allocation.as_ref();
            job.is_some_and(|job| job.id == id && job.manager.eq_ignore_ascii_case(&backend))
        };
        let known = self.strangers.extract_if(.., |_, (_, config)| is_of(config)).collect::<Vec<_>>();
        for (worker, (at, config)) in known {
            self.join(at, worker, &config);
        }
    }

    fn join(&mut self, at: Tick, worker: WorkerId, config: &Arc<WorkerConfig>) {
        let Some(job) = &config.allocation else { return };
        let Some((queue, number)) = self.find(job) else {
            self.strangers.insert(worker, (at, Arc::clone(config)));
            return;
        };
        if let Some(allocation) = self.queues.get_mut(&queue).and_then(|queue| queue.allocations.get_mut(&number)) {
            allocation.here.insert(worker, at);
            self.workers.insert(worker, Home { queue, number, config: Arc::clone(config) });
        }
    }

    /// The server ends: its workers have been there, so that their allocations have not failed, and may be still. The backend
    /// tells what is left, or they do.
    fn part(&mut self) {
        let mut parted = std::mem::take(&mut self.strangers);
        let homes = std::mem::take(&mut self.workers);
        for a in self.queues.values_mut().flat_map(|queue| queue.allocations.values_mut()) {
            a.had_workers |= !a.here.is_empty();
            for (worker, since) in std::mem::take(&mut a.here) {
                parted.extend(homes.get(&worker).map(|home| (worker, (since, Arc::clone(&home.config)))));
            }
        }
        parted.retain(|_, (_, config)| config.on_server_lost.reconnects());
        self.away.append(&mut parted);
    }

    fn lose(&mut self, at: Tick, worker: WorkerId, reason: LossReason) {
        if let Some((since, config)) = self.away.remove(&worker) {
            self.join(since, worker, &config); // it was there, and is not any more
        }
        self.strangers.remove(&worker);
        let Some(Home { queue, number, .. }) = self.workers.remove(&worker) else { return };
        if let Some(allocation) = self.queues.get_mut(&queue).and_then(|queue| queue.allocations.get_mut(&number))
            && let Some(since) = allocation.here.remove(&worker)
        {
            allocation.gone.insert(worker, (reason, at.since(since)));
        }
    }
}

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use hq_backend::{Allocation, AllocationId, AllocationRequest, AllocationStatus, AllocatorBackend, BackendError, Word};
use hq_core::{Fact, QueueId, QueueSpec, Seq, Tick, WorkerConfig};
use hq_scheduler::{
    Scheduler, WorkerType,
    autoscale::single::{AllocationState, Autoscaler, ScaleAction},
};
use tokio::{
    task::JoinSet,
    time::{Instant, timeout},
};

/// Distance of looks at the demand.
const LOOK: Duration = Duration::from_millis(200);
/// Distance of questions to the backend about what it has.
const ASK: Duration = Duration::from_secs(1);
/// Time for the backend to end all allocations at the end of the engine.
const END: Duration = Duration::from_secs(10);
/// More workers than that are never asked for at a time.
const DEMAND_MAX: u32 = 4096;

/// The autoscaler of a queue with the backend that it asks.
pub(crate) struct Carrier {
    machine: Autoscaler,
    backend: Arc<dyn AllocatorBackend>,
    command: Vec<Word>,
    worker: Option<Arc<WorkerConfig>>,
    calls: JoinSet<Answer>,
    /// Requests whose intents are not safe yet, with the number that has to be, once it is known.
    waiting: Vec<(Option<Seq>, AllocationRequest)>,
    look_at: Instant,
    ask_at: Instant,
    is_asking: bool,
}

/// What the backend says.
#[derive(Debug)]
pub(crate) enum Answer {
    /// To a request.
    Submitted { key: String, result: Result<AllocationId, BackendError> },
    /// To a look for one.
    Found { key: String, result: Result<Option<AllocationId>, BackendError> },
    /// About what it has, by key.
    Status(Vec<(String, Result<AllocationStatus, BackendError>)>),
    /// To a cancel.
    Canceled,
}

impl Carrier {
    /// Goes on from the facts of the journal. What comes back beside it is to be recorded first.
    pub(crate) fn restore(
        backend: Arc<dyn AllocatorBackend>,
        command: Vec<Word>,
        spec: QueueSpec,
        history: &[Fact],
        server_uid: &str,
        now: Tick,
    ) -> (Self, Vec<Fact>) {
        let mut queues: BTreeMap<QueueId, &QueueSpec> = BTreeMap::new();
        let mut last = QueueId(0);
        for fact in history {
            match fact {
                Fact::QueueCreated { queue, spec } => {
                    queues.insert(*queue, spec);
                    last = last.max(*queue);
                }
                Fact::QueueRemoved { queue } => {
                    queues.remove(queue);
                }
                _ => {}
            }
        }
        let known = queues.iter().find(|(_, known)| ***known == spec).map(|(queue, _)| *queue);
        let queue = known.unwrap_or(QueueId(last.0 + 1));
        let mut facts: Vec<Fact> =
            queues.keys().filter(|old| **old != queue).map(|old| Fact::QueueRemoved { queue: *old }).collect();
        if known.is_none() {
            facts.push(Fact::QueueCreated { queue, spec: Arc::new(spec.clone()) });
        }
        let worker = spec.worker.clone();
        let mut machine = Autoscaler::new(queue, spec, server_uid);
        history.iter().for_each(|fact| machine.replay(fact));
        machine.boot(now);
        let carrier = Self {
            machine,
            backend,
            command,
            worker,
            calls: JoinSet::new(),
            waiting: vec![],
            look_at: Instant::now(),
            ask_at: Instant::now(),
            is_asking: false,
        };
        (carrier, facts)
    }

    /// The next answer, or the time to [look](Self::look).
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<Answer> {
        tokio::select! {
            Some(answer) = self.calls.join_next() => answer.ok(),
            () = tokio::time::sleep_until(self.look_at.min(self.ask_at)) => None,
        }
    }

    /// Hands an answer on.
    pub(crate) fn hear(&mut self, now: Tick, answer: Answer) {
        match answer {
            Answer::Submitted { key, result: Ok(id) } => self.machine.queued(now, &key, id.0),
            // It may have been done all the same.
            Answer::Submitted { key, result: Err(e) } if e.is_in_doubt && self.backend.capability().find => {
                tracing::warn!("{e}");
                self.find(key);
            }
            Answer::Submitted { key, result: Err(e) } => {
                tracing::warn!("{e}");
                self.machine.failed(now, &key, Some(e.to_string()));
            }
            Answer::Found { key, result: Ok(Some(id)) } => self.machine.queued(now, &key, id.0),
            Answer::Found { key, result: Ok(None) } => {
                self.machine.failed(now, &key, Some("the allocator does not have it".to_owned()));
            }
            Answer::Found { key, result: Err(e) } => self.machine.failed(now, &key, Some(e.to_string())),
            Answer::Status(all) => {
                self.is_asking = false;
                for (key, status) in all {
                    match status {
                        Ok(AllocationStatus::Queued { .. } | AllocationStatus::Unclear { .. }) => {}
                        Ok(AllocationStatus::Running { .. }) => self.machine.started(now, &key),
                        Ok(AllocationStatus::Ended(end)) => self.machine.ended(now, &key, end.error),
                        Err(e) => tracing::warn!("{e}"),
                    }
                }
            }
            Answer::Canceled => {}
        }
    }

    /// Looks at the demand, and asks the backend about what it has, if it is time.
    pub(crate) fn look(&mut self, now: Tick, scheduler: &Scheduler) {
        let present = Instant::now();
        if present >= self.look_at {
            self.look_at = present + LOOK;
            let wanted = self.worker.as_ref().map_or(0, |worker| wanted(now, scheduler, worker));
            let mut arrived = BTreeMap::new();
            for worker in scheduler.workers() {
                if let Some(allocation) = &worker.config.allocation {
                    *arrived.entry(allocation.id.clone()).or_default() += 1;
                }
            }
            self.machine.set_demand(now, wanted, &arrived);
            self.machine.handle_timeout(now);
        }
        if present >= self.ask_at {
            self.ask_at = present + ASK;
            self.ask();
        }
    }

    /// Facts to be recorded now.
    pub(crate) fn take_facts(&mut self) -> Vec<Fact> {
        let mut facts = Vec::new();
        while let Some(action) = self.machine.poll_action() {
            match action {
                ScaleAction::Record(fact) => facts.push(fact),
                ScaleAction::Submit { key, workers } => {
                    let request = self.request(key, workers);
                    self.waiting.push((None, request));
                }
                ScaleAction::Find { key } => self.find(key),
                ScaleAction::Cancel { id } => self.cancel(id),
            }
        }
        facts
    }

    /// Asks for what was intended and is safe by now. All facts that were taken have been appended, up to number
    /// `appended`.
    pub(crate) fn submit_safe(&mut self, appended: Seq, durable: Seq) {
        let (safe, waiting): (Vec<_>, Vec<_>) = std::mem::take(&mut self.waiting)
            .into_iter()
            .map(|(seq, request)| (seq.unwrap_or(appended), request))
            .partition(|(seq, _)| *seq <= durable);
        self.waiting = waiting.into_iter().map(|(seq, request)| (Some(seq), request)).collect();
        for (_, request) in safe {
            let backend = Arc::clone(&self.backend);
            self.calls.spawn(async move {
                let result = backend.submit(&request).await;
                Answer::Submitted { key: request.key, result }
            });
        }
    }

    /// Has the backend end all that it has; waits for that, but not for ever.
    pub(crate) async fn end(mut self) {
        let ended = timeout(END, async {
            self.machine.stop();
            self.take_facts();
            // What is being asked for shows up here, and is ended as well.
            while let Some(answer) = self.calls.join_next().await {
                if let Ok(answer) = answer {
                    self.hear(Tick(0), answer);
                    self.machine.stop();
                    self.take_facts();
                }
            }
        });
        if ended.await.is_err() {
            tracing::warn!("allocator `{}` did not end all allocations in time", self.backend.name());
        }
        self.calls.shutdown().await;
    }

    fn request(&self, key: String, workers: u32) -> AllocationRequest {
        AllocationRequest {
            key,
            workers,
            time_limit: self.machine.spec().time_limit,
            command: self.command.clone(),
            worker: self.worker.clone(),
            batch: None,
        }
    }

    fn find(&mut self, key: String) {
        let backend = Arc::clone(&self.backend);
        let request = self.request(key, 1);
        self.calls.spawn(async move {
            let result = backend.find(&request).await;
            Answer::Found { key: request.key, result }
        });
    }

    fn cancel(&mut self, id: String) {
        let backend = Arc::clone(&self.backend);
        self.calls.spawn(async move {
            let allocation = Allocation { key: String::new(), id: AllocationId(id), directory: None };
            if let Err(e) = backend.cancel(&allocation).await {
                tracing::warn!("{e}");
            }
            Answer::Canceled
        });
    }

    fn ask(&mut self) {
        if std::mem::replace(&mut self.is_asking, true) {
            return;
        }
        let all: Vec<Allocation> = self
            .machine
            .allocations()
            .filter_map(|allocation| match allocation.state {
                AllocationState::Intended => None,
                AllocationState::Queued { id } | AllocationState::Running { id, .. } => {
                    Some(Allocation { id: AllocationId(id.clone()), key: allocation.key.to_owned(), directory: None })
                }
            })
            .collect();
        let backend = Arc::clone(&self.backend);
        self.calls.spawn(async move {
            let status = if all.is_empty() { vec![] } else { backend.status(&all).await };
            Answer::Status(all.into_iter().map(|allocation| allocation.key).zip(status).collect())
        });
    }
}

/// How many more such workers would get something to do, those of gangs included. All of them are of one group.
fn wanted(now: Tick, scheduler: &Scheduler, worker: &WorkerConfig) -> u32 {
    let mut kind = WorkerType::like(worker);
    kind.workers_max = DEMAND_MAX;
    let demand = scheduler.demand(now, &[kind]);
    let of_gangs = demand.gangs.iter().map(|gang| gang.gangs.saturating_mul(u64::from(gang.nodes)));
    let all = demand.workers.iter().map(|n| u64::from(*n)).chain(of_gangs).fold(0, u64::saturating_add);
    all.min(u64::from(DEMAND_MAX)) as u32
}

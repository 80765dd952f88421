use std::sync::Arc;

use hq_core::{ClientReply, Fact, LinkId, QueueId, QueueSpec, Refusal, RequestId, Span, Tick, WorkerId, WorkerRuntime};
use hq_scheduler::{
    WorkerType,
    autoscale::{Autoscaler, ScaleAction, ScaleKnobs, ScaleNews, ScaleOrder, Told},
};

use super::{
    ServerNode, ServerOutput,
    api::{BackendNews, BackendOrder},
    durability::Withheld,
    stopping::Phase,
};

/// Idle workers that are looked at in one step.
const LOOKS_MAX: usize = 16;
/// Calls about queues that may wait at a time.
const WAITING_MAX: usize = 1024;

/// The autoscaler, and who waits for what of it.
#[derive(Debug, Default)]
pub(super) struct Scaling {
    pub(super) machine: Autoscaler,
    /// Submissions whose intents are not safe yet, and cancellations by one who may have lost the journal, and with it what
    /// is to be cancelled, without knowing it.
    held: Withheld<ScaleOrder>,
    /// Other orders of this step.
    ready: Vec<BackendOrder>,
    trials: Vec<Trial>,
    last_trial: u64,
    /// Whether it may ask for anything yet.
    is_open: bool,
    /// Those who wait until a queue is gone.
    removals: Vec<(QueueId, LinkId, RequestId)>,
}

/// A client that waits for a trial.
#[derive(Debug)]
struct Trial {
    token: u64,
    link: LinkId,
    id: RequestId,
    /// What is made of it when it goes well.
    queue: Option<QueueSpec>,
}

impl ServerNode {
    /// The autoscaler is that patient from now on.
    pub fn set_scale_knobs(&mut self, knobs: ScaleKnobs) {
        self.scaling.machine.set_knobs(knobs);
    }

    /// Lets the autoscaler ask for allocations; before, only those of earlier lives are followed. Their directories are made in
    /// `place`; without one they have none.
    pub fn open_scaling(&mut self, place: Option<String>) {
        self.scaling.machine.set_place(place);
        self.scaling.is_open = true;
        self.is_dirty = true;
    }

    /// When the autoscaler wants to be looked after.
    pub(super) fn next_scaling(&self) -> Option<Tick> {
        let next = self.scaling.machine.poll_timeout()?;
        // A round that may not be had is not waited for.
        let may_ask = self.scaling.is_open && self.ledger.failure().is_none();
        (may_ask || !self.scaling.machine.is_due(next)).then_some(next)
    }

    /// Works out what the autoscaler makes of this step; its facts become part of it.
    pub(super) fn scale(&mut self, warnings: &mut Vec<ServerOutput>) {
        let now = self.now;
        let may_ask = self.scaling.is_open && self.phase == Phase::Running && self.ledger.failure().is_none();
        if may_ask && self.scaling.machine.is_due(now) {
            let scheduler = &self.scheduler;
            self.scaling.machine.round(now, |types| scheduler.demand(now, types));
            self.stop_useless(warnings);
        }
        while let Some(action) = self.scaling.machine.poll_action() {
            match action {
                ScaleAction::Record(fact) => self.note(fact),
                ScaleAction::Warn(text) => warnings.push(ServerOutput::Warn(text)),
                ScaleAction::Order(order @ ScaleOrder::Submit { .. }) => {
                    self.scaling.held.push(self.ledger.appended(), order);
                }
                ScaleAction::Order(order @ ScaleOrder::Cancel { .. }) => {
                    self.note(Fact::FlushWanted);
                    self.scaling.held.push(self.ledger.appended(), order);
                }
                ScaleAction::Order(order) => self.scaling.ready.push(BackendOrder::Scale(order)),
            }
        }
        let book = self.scaling.machine.book();
        let gone = self.scaling.removals.extract_if(.., |(queue, ..)| book.queue(*queue).is_none());
        for (_, link, id) in gone.collect::<Vec<_>>() {
            self.reply_durable(link, id, ClientReply::Done);
        }
    }

    /// Ends workers of allocations that have nothing to do, where tasks wait that could run there but for the time that is
    /// left: nothing but an allocation of its own helps these.
    fn stop_useless(&mut self, warnings: &mut Vec<ServerOutput>) {
        let present = self.workers.by_id.keys().filter_map(|worker| self.scheduler.worker(*worker));
        let idle = present.filter(|worker| {
            let is_idle = matches!(worker.runtime, Some(WorkerRuntime::Single { assigned: 0, reserved: false, .. }));
            is_idle && self.scaling.machine.book().of_worker(worker.id).is_some()
        });
        let useless = idle.take(LOOKS_MAX).filter(|worker| {
            let Some(limit) = worker.config.time_limit else { return false };
            let left = limit.less(self.now.since(worker.joined));
            let wanted = |time: Span| {
                let mut kind = WorkerType::like(worker.config);
                (kind.time_limit, kind.workers_max) = (Some(time), 1);
                let demand = self.scheduler.demand(self.now, &[kind]);
                demand.workers.iter().any(|n| *n > 0) || !demand.gangs.is_empty()
            };
            wanted(limit) && !wanted(left)
        });
        let useless: Vec<WorkerId> = useless.map(|worker| worker.id).collect();
        for worker in useless {
            self.stop_idle(worker);
        }
        self.take_actions(warnings);
    }

    /// Orders that need not wait any more.
    pub(super) fn give_orders(&mut self) {
        self.outputs.extend(self.scaling.ready.drain(..).map(ServerOutput::Backend));
        if self.ledger.failure().is_some() {
            for (after, order) in self.scaling.held.take_all() {
                match order {
                    ScaleOrder::Cancel { .. } => {
                        self.outputs.push_back(ServerOutput::Backend(BackendOrder::Scale(order)));
                    }
                    order => self.scaling.held.push(after, order),
                }
            }
            return;
        }
        while let Some(order) = self.scaling.held.pop(self.ledger.durable()) {
            self.outputs.push_back(ServerOutput::Backend(BackendOrder::Scale(order)));
        }
    }

    /// Has allocations ended; what was not asked for yet is not asked for. Nobody's wish is no reason to end workers that wait
    /// for the server that follows: the journal tells it of their allocations.
    pub(super) fn stop_scaling(&mut self, is_wanted: bool) {
        self.scaling.machine.stop(self.now, !is_wanted && self.config.journal);
        for (after, order) in self.scaling.held.take_all() {
            if let ScaleOrder::Submit { queue, key, .. } = order {
                let told = Told::Refused { key, error: "the server is stopping".to_owned() };
                self.scaling.machine.hear(self.now, ScaleNews { queue, told });
            } else {
                self.scaling.held.push(after, order);
            }
        }
    }

    /// Nothing is asked of any backend any more.
    pub(super) fn drop_orders(&mut self) {
        self.scaling.held.take_all();
        self.scaling.ready.clear();
        self.outputs.retain(|output| !matches!(output, ServerOutput::Backend(_)));
    }

    /// A backend says this.
    pub(super) fn hear_backend(&mut self, news: BackendNews) {
        match news {
            BackendNews::Scale(news) => self.scaling.machine.hear(self.now, news),
            BackendNews::Tried { token, error } => {
                let Some(at) = self.scaling.trials.iter().position(|trial| trial.token == token) else { return };
                let Trial { link, id, queue, .. } = self.scaling.trials.swap_remove(at);
                match (error, queue) {
                    (Some(error), _) => self.refuse(link, id, Refusal::Invalid(error)),
                    (None, None) => self.reply(link, id, ClientReply::Done),
                    (None, Some(_)) if self.phase != Phase::Running => self.refuse(link, id, Refusal::Stopping),
                    (None, Some(spec)) => {
                        if let Err(refusal) = self.make_queue(link, id, spec) {
                            self.refuse(link, id, refusal);
                        }
                    }
                }
            }
        }
    }

    pub(super) fn make_queue(&mut self, link: LinkId, id: RequestId, spec: QueueSpec) -> Result<(), Refusal> {
        let queue = self.scaling.machine.create(self.now, spec).map_err(|e| Refusal::Invalid(e.to_string()))?;
        self.reply_durable(link, id, ClientReply::QueueAdded(queue));
        Ok(())
    }

    /// Has a backend asked whether it takes an allocation; `queue` is made then.
    pub(super) fn try_queue(
        &mut self,
        link: LinkId,
        id: RequestId,
        spec: QueueSpec,
        queue: Option<QueueSpec>,
    ) -> Result<(), Refusal> {
        self.check_waiting()?;
        self.scaling.last_trial += 1;
        let token = self.scaling.last_trial;
        self.scaling.trials.push(Trial { token, link, id, queue });
        self.scaling.ready.push(BackendOrder::Try { token, spec: Arc::new(spec) });
        Ok(())
    }

    pub(super) fn remove_queue(
        &mut self,
        link: LinkId,
        id: RequestId,
        queue: QueueId,
        force: bool,
    ) -> Result<(), Refusal> {
        self.check_waiting()?;
        self.scaling.machine.remove(self.now, queue, force).map_err(|e| Refusal::Invalid(e.to_string()))?;
        self.scaling.removals.push((queue, link, id));
        Ok(())
    }

    /// Nobody can be answered any more but with `refusal`.
    pub(super) fn refuse_waiting(&mut self, refusal: &Refusal) {
        let removals = std::mem::take(&mut self.scaling.removals).into_iter().map(|(_, link, id)| (link, id));
        let trials = std::mem::take(&mut self.scaling.trials).into_iter().map(|trial| (trial.link, trial.id));
        for (link, id) in removals.chain(trials).collect::<Vec<_>>() {
            self.refuse(link, id, refusal.clone());
        }
    }

    fn check_waiting(&self) -> Result<(), Refusal> {
        if self.scaling.trials.len() + self.scaling.removals.len() >= WAITING_MAX {
            return Err(Refusal::Invalid(format!(
                "too many calls about queues wait: at most {WAITING_MAX} are possible"
            )));
        }
        Ok(())
    }
}

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use hq_core::{Fact, PauseCause, QueueId, Span, Tick};

use super::{
    Allocation, Book, Queue, ScaleAction, ScaleKnobs, ScaleOrder,
    api::Asked,
    care::{Cancel, Care, Find, Mind},
    health::Health,
    permit::ARRIVAL,
};

/// What an earlier server had begun to ask for has been asked for by then.
const COMMAND: Span = Span::secs(150);

/// Decides how many allocations each queue asks for.
#[derive(Debug, Default)]
pub struct Autoscaler {
    pub(super) book: Book,
    pub(super) minds: BTreeMap<QueueId, Mind>,
    /// What keys begin with; differs from server to server.
    pub(super) prefix: String,
    pub(super) knobs: ScaleKnobs,
    /// Where directories of allocations are made.
    pub(super) place: Option<String>,
    /// When to look at what is wanted; none: never.
    pub(super) round_at: Option<Tick>,
    pub(super) last_round: Option<Tick>,
    /// When to ask the backends about what they have.
    pub(super) refresh_at: Tick,
    pub(super) is_stopping: bool,
    pub(super) actions: VecDeque<ScaleAction>,
}

impl Autoscaler {
    /// No queues.
    pub fn new(knobs: ScaleKnobs) -> Self {
        Self { knobs, ..Self::default() }
    }

    /// Applies a fact of the journal, in order.
    pub fn replay(&mut self, at: Tick, fact: &Fact) {
        self.book.apply(at, fact);
    }

    /// Begins a life, after the replay. Keys begin with `prefix`, which must differ from server to server. What the backends
    /// have is asked for at once, and what was being asked for when the last life ended is looked for.
    pub fn boot(&mut self, now: Tick, prefix: &str) {
        prefix.clone_into(&mut self.prefix);
        self.refresh_at = now;
        let knobs = self.knobs.clone();
        let unknown = |queue: &Queue| {
            let mut mind = Mind::default();
            if let Some(cause) = &queue.paused {
                mind.health = Health::paused(now, cause, &knobs);
            }
            for (number, _) in queue.active().filter(|(_, a)| a.id.is_none()) {
                let why = "the server ended while it was being asked for".to_owned();
                mind.cares.insert(
                    number,
                    Care {
                        find: Some(Find { at: Some(now), misses: 0, until: now.after(COMMAND), why }),
                        ..Care::default()
                    },
                );
            }
            mind.retry_at = matches!(queue.paused, Some(PauseCause::Allocations(_))).then_some(now);
            mind
        };
        self.minds = self.book.queues().map(|(id, queue)| (id, unknown(queue))).collect();
        let closing: Vec<QueueId> = self.book.queues().filter(|(_, q)| q.is_closing).map(|(id, _)| id).collect();
        for queue in closing {
            self.cancel_all(now, queue);
        }
        self.want_round(now);
        self.look_after(now);
    }

    /// It is that patient from now on.
    pub fn set_knobs(&mut self, knobs: ScaleKnobs) {
        self.knobs = knobs;
    }

    /// Directories of allocations are made in here from now on: `<place>/<queue>[-<name>]/<number>`. None has one otherwise.
    pub fn set_place(&mut self, place: Option<String>) {
        self.place = place;
    }

    /// What there is.
    pub const fn book(&self) -> &Book {
        &self.book
    }

    /// The next thing to do.
    pub fn poll_action(&mut self) -> Option<ScaleAction> {
        self.actions.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called next, or a [`round`](Self::round).
    pub fn poll_timeout(&self) -> Option<Tick> {
        let kept = self.knobs.kept_failures as usize;
        let has_active =
            self.minds.iter().any(|(id, mind)| mind.failed.len() > kept || !mind.is_asking && self.has_ids(*id));
        let refresh = (has_active && !self.is_stopping).then_some(self.refresh_at);
        let round = self.round_at.filter(|_| !self.is_stopping);
        let minds = self.minds.iter().filter_map(|(id, mind)| self.next_of(*id, mind));
        minds.chain(refresh).chain(round).min()
    }

    /// Takes the passing of time.
    pub fn handle_timeout(&mut self, now: Tick) {
        self.look_after(now);
    }

    /// Whether nothing is under way at a backend that a stopping server has to wait for.
    pub fn is_quiet(&self) -> bool {
        let waits = |care: &Care| {
            care.find.as_ref().is_some_and(|find| find.at.is_none())
                || care.cancel.as_ref().is_some_and(|cancel| cancel.is_out || cancel.at.is_some())
        };
        self.minds.values().all(|mind| mind.submitting.is_none() && !mind.cares.values().any(waits))
    }

    fn has_ids(&self, queue: QueueId) -> bool {
        self.book.queue(queue).is_some_and(|queue| queue.active().any(|(_, a)| a.id.is_some()))
    }

    /// When something of a queue is due.
    fn next_of(&self, id: QueueId, mind: &Mind) -> Option<Tick> {
        let queue = self.book.queue(id)?;
        let finds = mind.cares.values().filter_map(|care| care.find.as_ref()?.at);
        let cancels = mind.cares.values().filter_map(|care| care.cancel.as_ref()?.at);
        let late = queue.active().filter(|(number, a)| {
            let care = mind.cares.get(number);
            !a.has_had_workers() && care.is_none_or(|care| !care.is_late)
        });
        let late = late.filter_map(|(_, a)| Some(a.started?.after(ARRIVAL)));
        let proofs = queue.active().filter(|(n, _)| mind.cares.get(n).is_none_or(|care| !care.has_proved));
        let proofs = proofs.filter_map(|(_, a)| Some(a.here.values().min()?.after(self.knobs.quick)));
        let proofs = proofs.filter(|_| mind.health.allocation_failures() > 0);
        // Only what would be done then: what is past and waits for something else is no reason to be called again and again.
        let may_try = !matches!(queue.paused, Some(PauseCause::User)) && !queue.is_closing;
        let probe = mind.health.probe_at().filter(|_| may_try && !mind.is_probing);
        let retry = mind.retry_at.filter(|_| may_try && matches!(queue.paused, Some(PauseCause::Allocations(_))));
        let asking = finds.chain(cancels);
        if self.is_stopping {
            return asking.min();
        }
        asking.chain(late).chain(proofs).chain(probe).chain(retry).min()
    }

    /// Does what is due.
    pub(super) fn look_after(&mut self, now: Tick) {
        let queues: Vec<QueueId> = self.minds.keys().copied().collect();
        for queue in queues {
            self.find_due(now, queue);
            self.cancel_due(now, queue);
            if !self.is_stopping {
                self.note_lives(now, queue);
                self.try_again(now, queue);
            }
        }
        if now >= self.refresh_at && !self.is_stopping {
            self.refresh(now);
        }
    }

    fn find_due(&mut self, now: Tick, id: QueueId) {
        let (Some(queue), Some(mind)) = (self.book.queue(id), self.minds.get_mut(&id)) else { return };
        for (number, care) in &mut mind.cares {
            let Some(find) = care.find.as_mut().filter(|find| find.at.is_some_and(|at| at <= now)) else { continue };
            find.at = None;
            let Some(allocation) = queue.allocations.get(number) else { continue };
            let (spec, key, workers) = (Arc::clone(&queue.spec), allocation.key.clone(), allocation.workers);
            let dir = allocation.dir.clone();
            let order = ScaleOrder::Find { queue: id, spec, key, number: *number, workers, dir };
            self.actions.push_back(ScaleAction::Order(order));
        }
    }

    fn cancel_due(&mut self, now: Tick, id: QueueId) {
        let (Some(queue), Some(mind)) = (self.book.queue(id), self.minds.get_mut(&id)) else { return };
        for (number, care) in &mut mind.cares {
            let Some(cancel) = care.cancel.as_mut().filter(|cancel| cancel.at.is_some_and(|at| at <= now)) else {
                continue;
            };
            cancel.at = None;
            let Some(asked) = queue.allocations.get(number).and_then(asked) else { continue };
            cancel.is_out = true;
            let order = ScaleOrder::Cancel { queue: id, spec: Arc::clone(&queue.spec), allocation: asked };
            self.actions.push_back(ScaleAction::Order(order));
        }
    }

    /// Workers that did not come in time are a failure, those that have lived long enough a success.
    fn note_lives(&mut self, now: Tick, id: QueueId) {
        let Some(queue) = self.book.queue(id) else { return };
        let mut is_well = false;
        let mut late = Vec::new();
        for (number, a) in queue.active() {
            let has_proved = a.here.values().any(|since| now.since(*since) >= self.knobs.quick);
            if !a.has_had_workers() && a.started.is_some_and(|at| now.since(at) >= ARRIVAL) {
                late.push((number, a.id.clone().unwrap_or_default()));
            }
            if let Some(care) = self.minds.get_mut(&id).map(|mind| mind.cares.entry(number).or_default()) {
                // Once per allocation: one that goes on and on says nothing about those that die beside it.
                is_well |= has_proved && !care.has_proved;
                care.has_proved |= has_proved;
            }
        }
        if is_well && let Some(mind) = self.minds.get_mut(&id) {
            mind.health.allocation_succeeded();
        }
        for (number, name) in late {
            let care = self.minds.get_mut(&id).and_then(|mind| mind.cares.get_mut(&number));
            if care.is_some_and(|care| !std::mem::replace(&mut care.is_late, true)) {
                self.allocation_failed(now, id, format!("allocation {name} began, and no worker of it came"));
                self.want_round(now);
            }
        }
    }

    /// Dry runs after failed submissions, and ends of pauses for failed allocations.
    fn try_again(&mut self, now: Tick, id: QueueId) {
        let (Some(queue), Some(mind)) = (self.book.queue(id), self.minds.get_mut(&id)) else { return };
        if matches!(queue.paused, Some(PauseCause::User)) || queue.is_closing {
            return;
        }
        if mind.health.probe_at().is_some_and(|at| at <= now) && !mind.is_probing {
            mind.health.probing();
            mind.is_probing = true;
            let order = ScaleOrder::Probe { queue: id, spec: Arc::clone(&queue.spec) };
            self.actions.push_back(ScaleAction::Order(order));
        }
        if matches!(queue.paused, Some(PauseCause::Allocations(_))) && mind.retry_at.is_some_and(|at| at <= now) {
            mind.retry_at = None;
            mind.health.is_trying = true;
            self.emit(now, Fact::QueueResumed { queue: id });
            self.want_round(now);
        }
    }

    /// Asks the backends about what they have, and gives up directories of failed submissions.
    fn refresh(&mut self, now: Tick) {
        self.refresh_at = now.after(self.knobs.refresh);
        for (id, queue) in &self.book.queues {
            let Some(mind) = self.minds.get_mut(id) else { continue };
            while mind.failed.len() > self.knobs.kept_failures as usize {
                let Some(number) = mind.failed.pop_front() else { break };
                let dir = queue.allocations.get(&number).and_then(|a| a.dir.clone());
                let order = dir.map(|dir| ScaleOrder::Discard { queue: *id, dir });
                self.actions.extend(order.map(ScaleAction::Order));
            }
            let allocations: Vec<Asked> = queue.active().filter_map(|(_, a)| asked(a)).collect();
            if allocations.is_empty() || std::mem::replace(&mut mind.is_asking, true) {
                continue;
            }
            let order = ScaleOrder::Status { queue: *id, spec: Arc::clone(&queue.spec), allocations };
            self.actions.push_back(ScaleAction::Order(order));
        }
    }

    /// A fact becomes true.
    pub(super) fn emit(&mut self, now: Tick, fact: Fact) {
        self.book.apply(now, &fact);
        self.actions.push_back(ScaleAction::Record(fact));
    }

    /// An allocation of a queue failed at once.
    pub(super) fn allocation_failed(&mut self, now: Tick, id: QueueId, error: String) {
        let Some(mind) = self.minds.get_mut(&id) else { return };
        let is_too_often = mind.health.allocation_failed(&self.knobs);
        if is_too_often && self.book.queue(id).is_some_and(Queue::is_asking) {
            let rest = mind.health.rest(&self.knobs);
            mind.retry_at = Some(now.after(rest));
            self.pause_for(now, id, PauseCause::Allocations(error), rest);
        }
    }

    /// A queue asks for nothing for now.
    pub(super) fn pause_for(&mut self, now: Tick, id: QueueId, cause: PauseCause, rest: Span) {
        let what = match &cause {
            PauseCause::User => None,
            PauseCause::Submissions(error) => Some(("submissions", error)),
            PauseCause::Allocations(error) => Some(("allocations", error)),
        };
        if let Some((what, error)) = what {
            let text = format!("Queue {id} is paused, as its {what} fail: {error}; it tries again by itself in {rest}");
            self.actions.push_back(ScaleAction::Warn(text));
        }
        if let Some(mind) = self.minds.get_mut(&id) {
            mind.plan.clear();
        }
        self.emit(now, Fact::QueuePaused { queue: id, cause });
    }

    /// Looks at what is wanted as soon as it may.
    pub(super) fn want_round(&mut self, now: Tick) {
        let at = self.last_round.map_or(now, |last| last.after(self.knobs.tick).max(now));
        self.round_at = Some(self.round_at.map_or(at, |planned| planned.min(at)));
    }

    /// Has one allocation ended as soon as that is possible.
    pub(super) fn cancel(&mut self, now: Tick, id: QueueId, number: u64) {
        let Some(mind) = self.minds.get_mut(&id) else { return };
        let care = mind.cares.entry(number).or_default();
        if care.cancel.is_none() {
            care.cancel = Some(Cancel { at: Some(now), is_out: false, tries: 0 });
        }
    }

    /// Has all allocations of a queue ended; those whose fate is not known once it is.
    pub(super) fn cancel_all(&mut self, now: Tick, id: QueueId) {
        self.cancel_but(now, id, |_, _| false);
    }

    /// The same but for those that are `kept`.
    pub(super) fn cancel_but(&mut self, now: Tick, id: QueueId, kept: impl Fn(&Book, &Allocation) -> bool) {
        let Some(queue) = self.book.queue(id) else { return };
        let known = queue.active().filter(|(_, a)| a.id.is_some() && !kept(&self.book, a));
        let known: Vec<u64> = known.map(|(number, _)| number).collect();
        for number in known {
            self.cancel(now, id, number);
        }
        self.cancel_due(now, id);
    }
}

/// What a backend is told of an allocation that it has.
pub(super) fn asked(allocation: &Allocation) -> Option<Asked> {
    let id = allocation.id.clone()?;
    Some(Asked { key: allocation.key.clone(), id, dir: allocation.dir.clone() })
}

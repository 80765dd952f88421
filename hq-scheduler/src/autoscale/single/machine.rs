use std::collections::{BTreeMap, VecDeque};

use hq_core::{Fact, QueueId, QueueSpec, Span, Tick};

use super::allocation::{Allocation, AllocationState, AllocationView};

/// Workers of an allocation that has begun are waited for that long; then its place counts as free.
const ARRIVAL: Span = Span::secs(60);
/// Distance to the next try after a failure; doubles with each further one.
const RETRY_MIN: Span = Span::secs(1);
/// Its upper bound.
const RETRY_MAX: Span = Span::secs(60);

/// Decides how many allocations one queue asks for.
///
/// It asks for as many workers as would get a task that waits now, less those that are on their way, with at most
/// [`QueueSpec::backlog`] allocations that have not begun, and at most [`QueueSpec::max_workers`] workers.
#[derive(Debug)]
pub struct Autoscaler {
    queue: QueueId,
    spec: QueueSpec,
    /// What keys begin with; differs from server to server.
    prefix: String,
    allocations: BTreeMap<String, Allocation>,
    /// Allocations ever intended.
    count: u64,
    demand: u32,
    failures: u32,
    /// After a failure: nothing new is asked for before.
    not_before: Tick,
    is_stopping: bool,
    actions: VecDeque<ScaleAction>,
}

/// What an autoscaler wants done, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScaleAction {
    /// Write this to the journal; it is true already.
    Record(Fact),
    /// Ask the backend for it, once all that was recorded before is safe.
    Submit {
        /// Under this key.
        key: String,
        /// So many workers.
        workers: u32,
    },
    /// Find out whether the backend has it.
    Find {
        /// The key.
        key: String,
    },
    /// Have the backend end it.
    Cancel {
        /// The backend's name for it.
        id: String,
    },
}

impl Autoscaler {
    /// A queue without allocations. Keys begin with `prefix`, which must differ from server to server.
    pub fn new(queue: QueueId, spec: QueueSpec, prefix: &str) -> Self {
        Self {
            queue,
            spec,
            prefix: format!("{prefix}-{queue}"),
            allocations: BTreeMap::new(),
            count: 0,
            demand: 0,
            failures: 0,
            not_before: Tick(0),
            is_stopping: false,
            actions: VecDeque::new(),
        }
    }

    /// Applies a fact of the journal, in order. What is about other queues changes nothing.
    pub fn replay(&mut self, fact: &Fact) {
        match fact {
            Fact::AllocationIntended { queue, key, workers } if *queue == self.queue => {
                self.count += 1;
                self.allocations.insert(key.clone(), Allocation::intended(*workers));
            }
            Fact::AllocationQueued { queue, key, id, .. } if *queue == self.queue => {
                if let Some(allocation) = self.allocations.get_mut(key) {
                    allocation.state = AllocationState::Queued { id: id.clone() };
                }
            }
            Fact::AllocationStarted { queue, key } if *queue == self.queue => self.begin(Tick(0), key),
            Fact::AllocationEnded { queue, key, .. } if *queue == self.queue => {
                self.allocations.remove(key);
            }
            _ => {}
        }
    }

    /// Begins a life after the replay: looks for allocations whose fate is not known.
    pub fn boot(&mut self, now: Tick) {
        for (key, allocation) in &mut self.allocations {
            match &mut allocation.state {
                AllocationState::Intended => self.actions.push_back(ScaleAction::Find { key: key.clone() }),
                AllocationState::Running { since, .. } => *since = now,
                AllocationState::Queued { .. } => {}
            }
        }
    }

    /// So many new workers would get a task that waits now, and those that have come belong to these allocations, by
    /// the backend's ids.
    pub fn set_demand(&mut self, now: Tick, demand: u32, arrived: &BTreeMap<String, u32>) {
        self.demand = demand;
        let mut begun = Vec::new();
        for (key, allocation) in &mut self.allocations {
            let seen = allocation.id().and_then(|id| arrived.get(id)).copied().unwrap_or(0);
            if seen > allocation.arrived {
                allocation.arrived = seen;
                self.failures = 0;
            }
            if seen > 0 && !allocation.is_running() {
                begun.push(key.clone());
            }
        }
        for key in begun {
            self.started(now, &key);
        }
        self.decide(now);
    }

    /// The backend has it.
    pub fn queued(&mut self, now: Tick, key: &str, id: String) {
        let Some(allocation) = self.allocations.get_mut(key) else {
            // Its end was told already: nobody would ever end it otherwise.
            return self.actions.push_back(ScaleAction::Cancel { id });
        };
        if allocation.id().is_some() {
            return;
        }
        allocation.state = AllocationState::Queued { id: id.clone() };
        self.record(Fact::AllocationQueued { queue: self.queue, key: key.to_owned(), id, dir: None });
        self.decide(now);
    }

    /// The backend does not have it: it refused, failed, or never heard of it. With an error the next one waits, longer
    /// each time until a worker comes.
    pub fn failed(&mut self, now: Tick, key: &str, error: Option<String>) {
        if self.allocations.get(key).is_none_or(|allocation| allocation.id().is_some()) {
            return;
        }
        self.end(now, key, error);
        self.decide(now);
    }

    /// It has begun.
    pub fn started(&mut self, now: Tick, key: &str) {
        if self
            .allocations
            .get(key)
            .is_some_and(|allocation| matches!(allocation.state, AllocationState::Queued { .. }))
        {
            self.begin(now, key);
            self.record(Fact::AllocationStarted { queue: self.queue, key: key.to_owned() });
            self.decide(now);
        }
    }

    /// It is over; an error counts as that of a [failure](Self::failed).
    pub fn ended(&mut self, now: Tick, key: &str, error: Option<String>) {
        if self.allocations.contains_key(key) {
            self.end(now, key, error);
            self.decide(now);
        }
    }

    /// Asks for nothing more, and has all that there is ended.
    pub fn stop(&mut self) {
        self.is_stopping = true;
        for allocation in self.allocations.values_mut() {
            if let Some(id) = allocation.id().map(str::to_owned)
                && !std::mem::replace(&mut allocation.is_canceled, true)
            {
                self.actions.push_back(ScaleAction::Cancel { id });
            }
        }
    }

    /// Takes the passing of time.
    pub fn handle_timeout(&mut self, now: Tick) {
        self.decide(now);
    }

    /// The next thing to do.
    pub fn poll_action(&mut self) -> Option<ScaleAction> {
        self.actions.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called next.
    pub fn poll_timeout(&self, now: Tick) -> Option<Tick> {
        (self.not_before > now && self.wanted(now) > 0).then_some(self.not_before)
    }

    /// All allocations that have not ended, by key.
    pub fn allocations(&self) -> impl Iterator<Item = AllocationView<'_>> {
        self.allocations.iter().map(|(key, a)| AllocationView { key, workers: a.workers, state: &a.state })
    }

    /// How it asks.
    pub const fn spec(&self) -> &QueueSpec {
        &self.spec
    }

    /// The most workers that could be asked for now, whatever the demand.
    pub fn room(&self) -> u32 {
        let active: u32 = self.allocations.values().map(|a| a.workers).fold(0, u32::saturating_add);
        self.spec.max_workers.map_or(u32::MAX, |max| max.saturating_sub(active))
    }

    fn decide(&mut self, now: Tick) {
        if now < self.not_before || self.is_stopping {
            return;
        }
        loop {
            let workers = self.wanted(now).min(self.room()).min(self.spec.workers_per_allocation);
            let waiting = self.allocations.values().filter(|allocation| !allocation.is_running()).count();
            if workers == 0 || waiting >= self.spec.backlog as usize {
                return;
            }
            self.count += 1;
            let key = format!("{}-{}", self.prefix, self.count);
            self.allocations.insert(key.clone(), Allocation::intended(workers));
            self.record(Fact::AllocationIntended { queue: self.queue, key: key.clone(), workers });
            self.actions.push_back(ScaleAction::Submit { key, workers });
        }
    }

    /// Workers that are wanted and not on their way.
    fn wanted(&self, now: Tick) -> u32 {
        let coming = self.allocations.values().map(|allocation| match allocation.state {
            AllocationState::Running { since, .. } if now.since(since) >= ARRIVAL => 0,
            _ => allocation.workers.saturating_sub(allocation.arrived),
        });
        self.demand.saturating_sub(coming.fold(0, u32::saturating_add))
    }

    fn begin(&mut self, now: Tick, key: &str) {
        if let Some(allocation) = self.allocations.get_mut(key)
            && let AllocationState::Queued { id } = &mut allocation.state
        {
            allocation.state = AllocationState::Running { id: std::mem::take(id), since: now };
        }
    }

    fn end(&mut self, now: Tick, key: &str, error: Option<String>) {
        if error.is_some() {
            let wait = RETRY_MIN.times(1 << self.failures.min(6));
            self.not_before = now.after(wait.min(RETRY_MAX));
            self.failures += 1;
        }
        self.allocations.remove(key);
        self.record(Fact::AllocationEnded { queue: self.queue, key: key.to_owned(), error });
    }

    fn record(&mut self, fact: Fact) {
        self.actions.push_back(ScaleAction::Record(fact));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(backlog: u32, per_allocation: u32, max_workers: Option<u32>) -> QueueSpec {
        QueueSpec {
            backend: "test".to_owned(),
            backlog,
            workers_per_allocation: per_allocation,
            max_workers,
            time_limit: None,
            worker: None,
            ..QueueSpec::default()
        }
    }

    fn queue(backlog: u32, per_allocation: u32, max_workers: Option<u32>) -> Autoscaler {
        Autoscaler::new(QueueId(1), spec(backlog, per_allocation, max_workers), "uid")
    }

    fn demand(scaler: &mut Autoscaler, now: u64, workers: u32) {
        scaler.set_demand(Tick::default().after(Span::secs(now)), workers, &BTreeMap::new());
    }

    /// What is asked for; checks that each intent is recorded before.
    fn submits(scaler: &mut Autoscaler) -> Vec<(String, u32)> {
        let mut intents = Vec::new();
        let mut submits = Vec::new();
        while let Some(action) = scaler.poll_action() {
            match action {
                ScaleAction::Record(Fact::AllocationIntended { key, workers, .. }) => intents.push((key, workers)),
                ScaleAction::Submit { key, workers } => {
                    assert!(intents.contains(&(key.clone(), workers)), "{key} was not recorded before");
                    submits.push((key, workers));
                }
                _ => {}
            }
        }
        submits
    }

    #[test]
    fn sizes_follow_demand_backlog_and_limits() {
        // backlog, workers per allocation, max workers, demand: sizes of the allocations
        for (backlog, per_allocation, max, wanted, expected) in [
            (4, 1, None, 0, &[][..]),
            (4, 1, None, 2, &[1, 1]),
            (2, 1, None, 9, &[1, 1]),
            (4, 4, None, 9, &[4, 4, 1]),
            (2, 4, None, 9, &[4, 4]),
            (4, 4, Some(5), 9, &[4, 1]),
            (4, 4, Some(0), 9, &[]),
            (1, 8, None, 3, &[3]),
        ] {
            let mut scaler = queue(backlog, per_allocation, max);
            demand(&mut scaler, 0, wanted);
            let sizes: Vec<u32> = submits(&mut scaler).into_iter().map(|(_, workers)| workers).collect();
            assert_eq!(sizes, expected, "backlog {backlog}, {per_allocation} each, max {max:?}, demand {wanted}");
            demand(&mut scaler, 1, wanted);
            assert_eq!(submits(&mut scaler), [], "what is on its way is not asked for again");
        }
    }

    #[test]
    fn what_has_begun_makes_room_in_the_backlog() {
        let mut scaler = queue(1, 1, None);
        demand(&mut scaler, 0, 3);
        let first = submits(&mut scaler)[0].0.clone();
        scaler.queued(Tick(0), &first, "7".to_owned());
        assert_eq!(submits(&mut scaler), []);
        scaler.started(Tick(0), &first);
        assert_eq!(submits(&mut scaler), [("uid-1-2".to_owned(), 1)]);
    }

    #[test]
    fn a_worker_that_comes_begins_its_allocation_and_is_not_expected_any_more() {
        let mut scaler = queue(9, 2, None);
        demand(&mut scaler, 0, 2);
        let key = submits(&mut scaler)[0].0.clone();
        scaler.queued(Tick(0), &key, "7".to_owned());
        scaler.set_demand(Tick(0), 2, &BTreeMap::from([("7".to_owned(), 1), ("8".to_owned(), 5)]));
        assert!(matches!(scaler.allocations().next().unwrap().state, AllocationState::Running { .. }));
        assert_eq!(submits(&mut scaler).iter().map(|(_, n)| n).sum::<u32>(), 1, "one is here, one is on its way");
    }

    #[test]
    fn workers_that_never_come_are_not_waited_for_for_ever() {
        let mut scaler = queue(9, 1, None);
        demand(&mut scaler, 0, 1);
        let key = submits(&mut scaler)[0].0.clone();
        scaler.queued(Tick(0), &key, "7".to_owned());
        scaler.started(Tick(0), &key);
        demand(&mut scaler, 59, 1);
        assert_eq!(submits(&mut scaler), []);
        demand(&mut scaler, 60, 1);
        assert_eq!(submits(&mut scaler).len(), 1);
    }

    #[test]
    fn failures_are_tried_again_later_and_later() {
        let mut scaler = queue(1, 1, None);
        let mut now = Tick(0);
        for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
            scaler.set_demand(now, 1, &BTreeMap::new());
            let key = submits(&mut scaler).pop().expect("a try").0;
            scaler.failed(now, &key, Some("no".to_owned()));
            assert_eq!(submits(&mut scaler), []);
            assert_eq!(scaler.poll_timeout(now), Some(now.after(Span::secs(wait))));
            now = now.after(Span::secs(wait));
        }
        demand(&mut scaler, 9999, 0);
        assert_eq!(submits(&mut scaler), [], "nobody waits any more");
    }

    #[test]
    fn a_restart_looks_for_what_was_intended_and_keeps_counting() {
        let mut before = queue(3, 1, None);
        demand(&mut before, 0, 3);
        let mut facts = Vec::new();
        let keep = |scaler: &mut Autoscaler, facts: &mut Vec<Fact>| {
            while let Some(action) = scaler.poll_action() {
                if let ScaleAction::Record(fact) = action {
                    facts.push(fact);
                }
            }
        };
        keep(&mut before, &mut facts);
        before.queued(Tick(0), "uid-1-2", "b".to_owned());
        before.queued(Tick(0), "uid-1-3", "c".to_owned());
        before.ended(Tick(0), "uid-1-3", None);
        keep(&mut before, &mut facts);

        let mut after = queue(3, 1, None);
        facts.iter().for_each(|fact| after.replay(fact));
        after.boot(Tick(0));
        let looked_for = ScaleAction::Find { key: "uid-1-1".to_owned() };
        assert_eq!(after.poll_action(), Some(looked_for));
        after.failed(Tick(0), "uid-1-1", None);
        demand(&mut after, 0, 3);
        assert_eq!(submits(&mut after), [("uid-1-5".to_owned(), 1)], "2 and 4 are on their way");
    }

    #[test]
    fn the_end_cancels_all_once_also_what_comes_late() {
        let mut scaler = queue(2, 1, None);
        demand(&mut scaler, 0, 2);
        submits(&mut scaler);
        scaler.queued(Tick(0), "uid-1-1", "a".to_owned());
        submits(&mut scaler);
        scaler.stop();
        scaler.stop();
        assert_eq!(scaler.poll_action(), Some(ScaleAction::Cancel { id: "a".to_owned() }));
        assert_eq!(scaler.poll_action(), None);
        scaler.queued(Tick(0), "uid-1-2", "b".to_owned());
        scaler.stop();
        assert_eq!(
            std::iter::from_fn(|| scaler.poll_action()).last(),
            Some(ScaleAction::Cancel { id: "b".to_owned() })
        );
        demand(&mut scaler, 1, 9);
        assert_eq!(submits(&mut scaler), []);
    }
}

use std::collections::VecDeque;

use hq_core::{Fact, GrantId, OpenedLanes, OrdinalRange, Record, Tick, ToWorker, WorkerId};

use crate::{
    Action,
    mind::Mind,
    policy::{Order, Placement, Policies},
    state::{Effects, State},
};

/// The scheduling core: a state machine from news to placements.
///
/// Four families of methods. *Commands* ([`submit`](Self::submit), [`cancel`](Self::cancel), [`join`](Self::join), …) may be
/// refused, and then change nothing. *News* ([`handle_event`](Self::handle_event),
/// [`handle_timeout`](Self::handle_timeout)) cannot be refused; stale ones change nothing. *Outputs*
/// ([`poll_action`](Self::poll_action), [`poll_batch`](Self::poll_batch), [`poll_timeout`](Self::poll_timeout)) are drained after each batch of the above.
/// *Getters* have no side effect.
///
/// Time is an argument and must not go back. The same calls give the same actions.
#[derive(Debug, Default)]
pub struct Scheduler {
    pub(crate) state: State,
    pub(crate) mind: Mind,
    pub(crate) policies: Policies,
    pub(crate) actions: VecDeque<Action>,
    /// What was taken out of these to be told one by one.
    singles: VecDeque<Action>,
}

impl Scheduler {
    /// Nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes an order known, to be chosen by its name. One of the same name is replaced; if that was chosen, the new one
    /// decides from now on.
    pub fn add_order(&mut self, order: Box<dyn Order>) {
        if self.policies.add_order(order) {
            self.follow_policy();
        }
    }

    /// Makes a placement known, to be chosen by its name. One of the same name is replaced; if that was chosen, the
    /// new one decides from now on.
    pub fn add_placement(&mut self, placement: Box<dyn Placement>) {
        if self.policies.add_placement(placement) {
            self.follow_policy();
        }
    }

    /// Names of the orders that can be chosen, ascending.
    pub fn orders(&self) -> impl Iterator<Item = &str> {
        self.policies.orders()
    }

    /// Names of the placements that can be chosen, ascending.
    pub fn placements(&self) -> impl Iterator<Item = &str> {
        self.policies.placements()
    }

    /// Applies a record of the journal, in order; before [`boot`](Self::boot).
    ///
    /// # Errors
    /// One line, where the record contradicts those before.
    pub fn replay(&mut self, record: &Record) -> Result<(), String> {
        self.state.apply(record, &mut Effects::default())
    }

    /// Another core, to which the same was [`replay`](Self::replay)ed and nothing else has happened.
    pub fn fork_past(&self) -> Self {
        Self { state: self.state.clone(), ..Self::default() }
    }

    /// The next thing to do. A round of placement runs in here when something has changed.
    ///
    /// Lanes that were opened together, and tasks that are killed together, come one by one, each with its fact and its message.
    /// Who has many of them to carry takes [`poll_batch`](Self::poll_batch).
    pub fn poll_action(&mut self, now: Tick) -> Option<Action> {
        match self.poll_batch(now)? {
            Action::Record(fact @ Fact::GrantsOpened(_)) => self.singles.extend(fact.singly().map(Action::Record)),
            Action::Send { worker, message: message @ (ToWorker::OpenLanes(_) | ToWorker::KillAll { .. }) } => {
                self.singles.extend(message.singly().map(|message| Action::Send { worker, message }))
            }
            other => return Some(other),
        }
        self.singles.pop_front()
    }

    /// As [`poll_action`](Self::poll_action), but lanes that were opened together come together: as one fact, and as one
    /// message for each worker; and so do tasks that are killed together. Both say the same.
    pub fn poll_batch(&mut self, now: Tick) -> Option<Action> {
        if let Some(single) = self.singles.pop_front() {
            return Some(single);
        }
        if self.actions.is_empty() && self.mind.needs_round {
            self.mind.needs_round = false;
            self.round(now);
        }
        self.actions.pop_front()
    }

    /// Makes a fact true and tells the journal; what it sets off is collected for [`settle`](Self::settle).
    pub(crate) fn emit(&mut self, at: Tick, fact: Fact, fx: &mut Effects) {
        match &fact {
            Fact::GrantClosed { grant } => self.close_lane_books(at, *grant),
            Fact::WorkerLost { worker, .. } | Fact::WorkerAway { worker } => {
                self.lost_lanes(*worker).into_iter().for_each(|grant| self.close_lane_books(at, grant))
            }
            _ => {}
        }
        let record = Record { at, fact };
        // What moved before is lent: most facts move a queue that has moved already.
        std::mem::swap(&mut fx.moved, &mut self.mind.moved);
        let applied = self.state.apply(&record, fx);
        std::mem::swap(&mut fx.moved, &mut self.mind.moved);
        debug_assert_eq!(applied, Ok(()), "the core contradicts itself: {record:?}");
        if !fx.gone.is_empty() {
            self.forget_classes(std::mem::take(&mut fx.gone));
        }
        match &record.fact {
            Fact::GrantClosed { grant } => _ = self.mind.spent.remove(grant),
            Fact::WorkerLost { .. } | Fact::WorkerReturned { .. } => {
                let state = &self.state;
                self.mind.spent.retain(|grant| state.grants.contains_key(grant) || state.suspended.contains_key(grant));
            }
            _ => {}
        }
        self.follow_workers(&record.fact, fx);
        self.follow_lanes(at, &record.fact);
        self.actions.push_back(Action::Record(record.fact));
    }

    /// Notes which workers have more or less free than before.
    fn follow_workers(&mut self, fact: &Fact, fx: &Effects) {
        match fact {
            Fact::GrantOpened { workers, .. } => self.mind.moved_workers.extend(workers),
            Fact::GrantsOpened(_) => {} // See below.
            Fact::GrantClosed { .. } | Fact::WorkerJoined { .. } => self.mind.moved_workers.extend(&fx.freed),
            Fact::WorkerLost { worker, .. } | Fact::WorkerAway { worker } | Fact::WorkerReturned { worker, .. } => {
                self.mind.moved_workers.insert(*worker);
                self.mind.moved_workers.extend(&fx.freed);
            }
            _ => {}
        }
    }

    /// Keeps the books of lanes that are not in the lasting state.
    fn follow_lanes(&mut self, at: Tick, fact: &Fact) {
        match fact {
            Fact::GrantOpened { grant, tasks, .. } => {
                let Some(lane) = self.state.grants.get(grant) else { return };
                let (class, main) = (lane.class, lane.worker);
                self.note_lane_got(*grant, tasks);
                *self.mind.lanes_of_class.entry(class).or_insert(0) += 1;
                *self.mind.runs.entry(class).or_default().entry(main).or_insert(0) += 1;
                self.mind.deep.set(class, *grant, !tasks.is_empty());
                self.charge(at, *grant);
            }
            Fact::GrantsOpened(lanes) => self.follow_new_lanes(at, lanes),
            Fact::WorkerReturned { kept, .. } => kept.iter().for_each(|kept| self.open_lane_books(at, kept.grant)),
            Fact::GrantExtended { grant, .. }
            | Fact::GrantReturned { grant, .. }
            | Fact::TaskStarted { grant, .. }
            | Fact::TasksFinished { grant, .. }
            | Fact::TaskKilled { grant, .. }
            | Fact::TaskRetried { grant: Some(grant), .. }
            | Fact::TaskFailed { grant: Some(grant), .. } => {
                match fact {
                    Fact::GrantExtended { tasks, .. } => self.note_lane_got(*grant, tasks),
                    Fact::GrantReturned { tasks, .. } => self.note_lane_lost(*grant, tasks),
                    Fact::TasksFinished { ends, .. } => self.note_lane_lost(*grant, &ends.tasks),
                    Fact::TaskKilled { task, .. } | Fact::TaskFailed { task, .. } | Fact::TaskRetried { task, .. } => {
                        self.note_lane_lost(*grant, &[OrdinalRange::one(*task)])
                    }
                    _ => {}
                }
                self.note_depth(*grant);
                self.charge(at, *grant);
                self.mind.stir(*grant);
            }
            _ => {}
        }
    }

    fn follow_new_lanes(&mut self, at: Tick, lanes: &OpenedLanes) {
        let Some(class) = self.state.grants.get(&lanes.first).map(|lane| lane.class) else { return };
        self.note_lanes_got(lanes);
        let n = lanes.workers.len() as u64;
        *self.mind.lanes_of_class.entry(class).or_insert(0) += n;
        let runs = self.mind.runs.entry(class).or_default();
        for own in lanes.by_worker().chunk_by(|a, b| a.0 == b.0) {
            self.mind.moved_workers.insert(own[0].0);
            *runs.entry(own[0].0).or_insert(0) += own.len() as u32;
        }
        self.mind.deep.add(class, lanes.first, n);
        if !self.state.owners.is_empty() {
            lanes.iter().for_each(|lane| self.charge(at, lane.grant));
        }
    }

    /// As if a lane were opened with all that it has.
    fn open_lane_books(&mut self, at: Tick, grant: GrantId) {
        let Some(lane) = self.state.grants.get(&grant) else { return };
        let (class, worker) = (lane.class, lane.worker);
        let tasks: Vec<OrdinalRange> = lane.tasks.iter().collect();
        self.note_lane_got(grant, &tasks);
        *self.mind.lanes_of_class.entry(class).or_insert(0) += 1;
        *self.mind.runs.entry(class).or_default().entry(worker).or_insert(0) += 1;
        self.note_depth(grant);
        self.charge(at, grant);
        self.mind.hungry.insert(grant);
    }

    fn note_depth(&mut self, grant: GrantId) {
        let Some(lane) = self.state.grants.get(&grant) else { return };
        let started = u64::from(lane.running.is_some());
        self.mind.deep.set(lane.class, grant, lane.tasks.len() > started);
    }

    fn close_lane_books(&mut self, at: Tick, grant: GrantId) {
        let Some(lane) = self.state.grants.get(&grant) else { return };
        if let Some(n) = self.mind.lanes_of_class.get_mut(&lane.class) {
            *n = n.saturating_sub(1);
        }
        if let Some(runs) = self.mind.runs.get_mut(&lane.class)
            && let Some(n) = runs.get_mut(&lane.worker)
        {
            *n -= 1;
            if *n == 0 {
                runs.remove(&lane.worker);
            }
        }
        self.mind.deep.set(lane.class, grant, false);
        self.mind.lanes_of_submit.close(&self.state, grant, lane);
        let mind = self.mind.lanes.remove(&grant).unwrap_or_default();
        if let Some(not_after) = mind.not_after {
            self.mind.limits.remove(&(not_after, grant));
        }
        if let Some(charge) = mind.charge {
            self.discharge(at, charge);
        }
        self.mind.hungry.remove(&grant);
        self.mind.stir(grant);
        self.mind.awaited.remove(&grant);
    }

    /// Lanes and gangs that end with a worker.
    fn lost_lanes(&self, worker: WorkerId) -> Vec<GrantId> {
        let grants =
            self.state.workers.get(&worker).into_iter().flat_map(|known| known.grants.iter().chain(&known.gang));
        let ends = |grant: &&GrantId| self.state.grants.get(grant).is_some_and(|lane| lane.worker == worker);
        grants.filter(ends).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use hq_core::{
        HeldGrant, JobSpec, JobTarget, OnServerLost, Profile, Request, Span, Submit, TaskIds, WorkerConfig,
        WorkerResources,
    };

    use super::*;

    fn opened(core: &mut Scheduler) -> Vec<u32> {
        let actions = std::iter::from_fn(|| core.poll_action(Tick(1)));
        let open = |action| match action {
            Action::Send { message: ToWorker::Open(open), .. } => Some(open.grant.n),
            _ => None,
        };
        actions.filter_map(open).collect()
    }

    fn join(core: &mut Scheduler, cpus: u32) -> WorkerId {
        let config = WorkerConfig::new("w", WorkerResources::cpus(cpus).unwrap());
        let on_server_lost = OnServerLost::Reconnect { timeout: Span::secs(60) };
        core.join(Tick(0), WorkerConfig { on_server_lost, ..config }).unwrap()
    }

    fn submit(core: &mut Scheduler, tasks: u32) -> Vec<u32> {
        let target = JobTarget::New(JobSpec::default());
        let profile = Profile::new(Request::cpus(1).unwrap());
        core.submit(Tick(1), Submit::array(target, TaskIds::Next(tasks), "program", vec![].into(), profile)).unwrap();
        opened(core)
    }

    #[test]
    fn numbers_of_grants_come_round_and_leave_out_those_in_use() {
        let mut core = Scheduler::new();
        core.boot(Tick(0), "uid".into(), 0, "1".into());
        join(&mut core, 7);
        assert_eq!(submit(&mut core, 3), [1, 2, 3]);
        core.state.last_grant = u32::MAX - 2;
        assert_eq!(submit(&mut core, 4), [u32::MAX - 1, u32::MAX, 4, 5]);
        assert_eq!(core.state.grants.len(), 7);
    }

    /// Wherever the numbers of lanes that wait for their worker lie: none is given again, and all go on.
    #[test]
    fn numbers_of_suspended_grants_are_in_use() {
        for from in [0, 1, 2, u32::MAX - 6, u32::MAX - 5, u32::MAX - 2, u32::MAX - 1, u32::MAX] {
            for back in 0..if cfg!(miri) { 1 } else { 8 } {
                let mut core = Scheduler::new();
                core.boot(Tick(0), "uid".into(), 0, "1".into());
                let away = join(&mut core, 3);
                core.state.last_grant = from;
                let suspended = submit(&mut core, 3);
                assert!(core.suspend(Tick(1), away));
                join(&mut core, 4);
                core.state.last_grant = from.wrapping_sub(back);
                let new = submit(&mut core, 4);
                assert!(new.len() == 4 && new.iter().all(|n| !suspended.contains(n)), "{from}-{back}: {new:?}");
                let lanes = core.state.suspended.iter();
                let held = lanes.map(|(grant, lane)| HeldGrant {
                    grant: *grant,
                    running: lane.next().map(|task| (task, Span(0))),
                    backlog: vec![],
                });
                let held: Vec<HeldGrant> = held.collect();
                let kept = core.take_back(Tick(2), away, &held, &[]).unwrap();
                assert!(kept.len() == 3 && kept.iter().all(|kept| kept.tasks.len() == 1), "{kept:?}");
                assert_eq!((core.state.grants.len(), core.state.suspended.len()), (7, 0));
            }
        }
    }
}

use std::collections::BTreeSet;

use hq_core::{
    Fact, GrantId, JobId, JobSpec, Ordinal, OrdinalRange, Outcome, Refusal, Rng, Tick, WorkerConfig, WorkerId,
};
use hq_scheduler::{Action, Scheduler};

use super::{
    Event, Report, Simulation, SimulationError,
    event::Observer,
    fleet::{Change, Fleet},
    meter::Meter,
    submits,
};
use crate::workload::Workload;

/// A run that will end.
type Ending = (Tick, u64, GrantId, Ordinal);

struct World<'a> {
    workload: &'a Workload,
    scheduler: Scheduler,
    fleet: Fleet,
    meter: Meter,
    rng: Rng,
    /// By time; at one moment, as the seed has it.
    endings: BTreeSet<Ending>,
    /// Ordinal of the workload's first task; the others follow.
    base: Option<Ordinal>,
    /// The job of all tasks, where some wait for others.
    job: Option<JobId>,
    /// The next task to arrive.
    next: usize,
    now: Tick,
    /// Workers to come, the next one last: when, which as given, what.
    coming: Vec<(Tick, usize, WorkerConfig)>,
    /// When workers go.
    leaving: BTreeSet<(Tick, WorkerId)>,
    observers: Vec<Observer<'a>>,
}

pub(super) fn run(simulation: Simulation<'_>) -> Result<Report, SimulationError> {
    let nothing = Workload::default();
    let workload = simulation.workload.unwrap_or(&nothing);
    let workers = simulation.workers.into_iter().enumerate();
    let mut coming: Vec<_> = workers.map(|(index, (at, config))| (at, index, config)).collect();
    coming.sort_by_key(|(at, index, _)| std::cmp::Reverse((*at, *index)));
    let mut world = World {
        workload,
        scheduler: simulation.scheduler,
        fleet: Fleet::default(),
        meter: Meter::new(coming.iter().map(|(_, _, config)| config), workload),
        rng: Rng::new(simulation.seed),
        endings: BTreeSet::new(),
        base: None,
        job: None,
        next: 0,
        now: Tick(0),
        leaving: BTreeSet::new(),
        coming,
        observers: simulation.observers,
    };
    let start = Tick(0);
    world.scheduler.boot(start, "simulation".to_owned(), 0, env!("CARGO_PKG_VERSION").to_owned());
    if let Some((order, placement)) = simulation.policy {
        world.scheduler.set_policy(start, &order, &placement).map_err(SimulationError::Policy)?;
    }
    world.join_workers(start)?;
    if workload.jobs().iter().any(|job| !job.deps.is_empty()) {
        world.job = Some(world.scheduler.open(start, JobSpec::default()));
    }
    world.drain(start);
    let until = simulation.until.map(|until| Tick(until.0));
    while let Some(now) = world.next_event() {
        if until.is_some_and(|until| until < now) {
            return Ok(world.meter.report(workload, world.next, until));
        }
        world.now = now;
        world.end_runs(now);
        world.end_workers(now);
        world.join_workers(now)?;
        world.arrive(now)?;
        world.scheduler.handle_timeout(now);
        world.drain(now);
    }
    Ok(world.meter.report(workload, world.next, None))
}

impl World<'_> {
    fn next_event(&self) -> Option<Tick> {
        let arrival = self.workload.jobs().get(self.next).map(|job| Tick(job.arrival.0));
        let ending = self.endings.first().map(|(at, ..)| *at);
        let coming = self.coming.last().map(|(at, ..)| *at);
        // Workers that nothing waits for may go unseen.
        let leaving = self.leaving.first().map(|(at, _)| *at).filter(|_| self.is_work_left());
        let event = [arrival, ending, coming, leaving].into_iter().flatten().min()?;
        // The core's own timers are about workers that leave: lanes that are too late, places held for nothing. They alone are no
        // reason to go on.
        let timer = self.scheduler.poll_timeout().filter(|at| *at > self.now);
        Some(timer.map_or(event, |timer| timer.min(event)))
    }

    fn is_work_left(&self) -> bool {
        self.meter.finished() < self.workload.jobs().len() as u64
    }

    fn join_workers(&mut self, now: Tick) -> Result<(), SimulationError> {
        while let Some((_, index, config)) = self.coming.pop_if(|(at, ..)| *at <= now) {
            let joined = self.scheduler.join(now, config.clone());
            let worker = joined.map_err(|error| SimulationError::Worker { index, error })?;
            self.leaving.extend(config.time_limit.map(|limit| (now.after(limit), worker)));
            self.meter.join(now, worker, &config);
            self.tell(now, &Event::Joined { worker, config: &config });
        }
        Ok(())
    }

    fn end_workers(&mut self, now: Tick) {
        while let Some((_, worker)) = self.leaving.first().copied().filter(|(at, _)| *at <= now) {
            self.leaving.pop_first();
            self.fleet.lose(worker);
            self.observe(now);
            self.meter.leave(now, worker);
            self.tell(now, &Event::Left { worker });
        }
    }

    fn tell(&mut self, now: Tick, event: &Event<'_>) {
        self.observers.iter_mut().for_each(|observer| observer.see(now, event));
    }

    fn end_runs(&mut self, now: Tick) {
        while let Some((_, _, grant, task)) = self.endings.first().copied().filter(|(at, ..)| *at <= now) {
            self.endings.pop_first();
            self.fleet.end(now, grant, task, Outcome::Finished);
            self.observe(now);
        }
    }

    fn arrive(&mut self, now: Tick) -> Result<(), SimulationError> {
        loop {
            let first = self.next;
            let tasks = submits::arrive_together(self.workload, first);
            if tasks.first().is_none_or(|task| Tick(task.arrival.0) > now) {
                return Ok(());
            }
            let refused = |error| SimulationError::Submit { first, error };
            let submit = submits::submit(first, tasks, self.job)
                .ok_or_else(|| refused(Refusal::Invalid("more than 4294967295 dependencies".to_owned())))?;
            self.scheduler.submit(now, submit).map_err(refused)?;
            self.next += tasks.len();
            self.tell(now, &Event::Submitted { tasks: first..self.next });
        }
    }

    /// Tells the core what the fleet has to say, and the fleet what the core wants, until both are content.
    fn drain(&mut self, now: Tick) {
        loop {
            for news in std::mem::take(&mut self.fleet.news) {
                self.scheduler.handle_event(now, news);
            }
            self.meter.rounds += 1;
            while let Some(action) = self.scheduler.poll_action(now) {
                match action {
                    Action::Record(fact) => self.note(&fact),
                    Action::Send { worker, message } => {
                        self.fleet.hear(now, worker, message);
                        self.observe(now);
                    }
                    // Nobody cancels, and no worker has to go.
                    Action::Canceled { .. } | Action::Warn(_) | Action::StopIdle { .. } => {}
                }
            }
            if self.fleet.news.is_empty() {
                return;
            }
        }
    }

    fn note(&mut self, fact: &Fact) {
        let count = |tasks: &[OrdinalRange]| tasks.iter().map(|range| range.len).sum::<u64>();
        self.meter.facts += 1;
        match fact {
            Fact::Submitted { base, .. } => _ = self.base.get_or_insert(*base),
            Fact::GrantOpened { grant, workers, allocation, tasks, .. } => {
                self.meter.decisions += count(tasks);
                if allocation.0.is_empty() {
                    self.meter.gangs.insert(*grant, workers.clone());
                }
            }
            Fact::GrantExtended { tasks, .. } => self.meter.decisions += count(tasks),
            Fact::GrantClosed { grant } => _ = self.meter.gangs.remove(grant),
            _ => {}
        }
    }

    fn observe(&mut self, now: Tick) {
        for change in std::mem::take(&mut self.fleet.changes) {
            let (Change::Begun { task, .. } | Change::Ended { task, .. }) = &change;
            let index = self.base.map_or(0, |base| task.0.saturating_sub(base.0)) as usize;
            match &change {
                Change::Begun { grant, worker, task, allocation, .. } => {
                    let takes = self.workload.jobs().get(index).map_or(hq_core::Span::ZERO, |job| job.run);
                    self.endings.insert((now.after(takes), self.rng.next_u64(), *grant, *task));
                    let workers = self.meter.gangs.get(grant).map_or(std::slice::from_ref(worker), Vec::as_slice);
                    let event = Event::Started { task: index, workers, allocation };
                    self.observers.iter_mut().for_each(|observer| observer.see(now, &event));
                }
                Change::Ended { outcome, .. } => self.tell(now, &Event::Ended { task: index, outcome }),
            }
            self.meter.observe(now, index, change);
        }
    }
}

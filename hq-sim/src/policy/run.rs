use std::collections::BTreeSet;

use hq_core::{Fact, GrantId, JobId, JobSpec, Ordinal, OrdinalRange, Outcome, Refusal, Rng, Tick};
use hq_scheduler::{Action, Scheduler};

use super::{
    Report, Simulation, SimulationError,
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
}

pub(super) fn run(simulation: Simulation<'_>) -> Result<Report, SimulationError> {
    let nothing = Workload::default();
    let workload = simulation.workload.unwrap_or(&nothing);
    let mut world = World {
        workload,
        scheduler: simulation.scheduler,
        fleet: Fleet::default(),
        meter: Meter::new(&simulation.workers, workload.jobs().len()),
        rng: Rng::new(simulation.seed),
        endings: BTreeSet::new(),
        base: None,
        job: None,
        next: 0,
    };
    let start = Tick(0);
    world.scheduler.boot(start, "simulation".to_owned(), 0, env!("CARGO_PKG_VERSION").to_owned());
    if let Some((order, placement)) = simulation.policy {
        world.scheduler.set_policy(start, &order, &placement).map_err(SimulationError::Policy)?;
    }
    for (index, config) in simulation.workers.into_iter().enumerate() {
        let joined = world.scheduler.join(start, config);
        joined.map_err(|error| SimulationError::Worker { index, error })?;
    }
    if workload.jobs().iter().any(|job| !job.deps.is_empty()) {
        world.job = Some(world.scheduler.open(start, JobSpec::default()));
    }
    world.drain(start);
    let until = simulation.until.map(|until| Tick(until.0));
    // The core's own timers are about workers that leave and about cancels: there are none here.
    while let Some(now) = world.next_event() {
        if until.is_some_and(|until| until < now) {
            return Ok(world.meter.report(workload, world.next, until));
        }
        world.end_runs(now);
        world.arrive(now)?;
        world.drain(now);
    }
    Ok(world.meter.report(workload, world.next, None))
}

impl World<'_> {
    fn next_event(&self) -> Option<Tick> {
        let arrival = self.workload.jobs().get(self.next).map(|job| Tick(job.arrival.0));
        let ending = self.endings.first().map(|(at, ..)| *at);
        arrival.into_iter().chain(ending).min()
    }

    fn end_runs(&mut self, now: Tick) {
        while let Some((_, _, grant, task)) = self.endings.first().copied().filter(|(at, ..)| *at <= now) {
            self.endings.pop_first();
            self.fleet.end(now, grant, task, Outcome::Finished);
            self.observe(now);
        }
    }

    fn arrive(&mut self, now: Tick) -> Result<(), SimulationError> {
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
        Ok(())
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
            if let Change::Begun { grant, task, .. } = &change {
                let takes = self.workload.jobs().get(index).map_or(hq_core::Span::ZERO, |job| job.run);
                self.endings.insert((now.after(takes), self.rng.next_u64(), *grant, *task));
            }
            self.meter.observe(now, index, change);
        }
    }
}

use std::collections::BTreeMap;

use hq_core::{Request, Span, WorkerConfig};
use hq_scheduler::{Scheduler, WorkerType, pool::Pools};

use super::{Invariant, Sample, Step, What, waiting::waiting};
use crate::model::ModelTask;

/// I22: nobody asks for more new workers than the tasks that wait now could use at once: one for each, as many as it is wide for
/// a gang, none for what such a worker could never run. Tasks that still wait for others count nothing.
#[derive(Debug, Default)]
pub struct HonestDemand {
    sample: Sample,
}

/// One step in so many is looked at.
const EVERY: u64 = 32;
/// More than is ever asked for here, and a bound that matters.
const MOST: [u32; 2] = [1_000_000, 2];

impl Invariant for HonestDemand {
    fn name(&self) -> &'static str {
        "I22 honest demand"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        let What::Settled(core) = step.what else { return Ok(()) };
        if !self.sample.is_due(EVERY) {
            return Ok(());
        }
        // New workers like one of those that are there.
        let Some(worker) = step.model.workers.values().next() else { return Ok(()) };
        MOST.into_iter().try_for_each(|most| check(core, step, &worker.config, most))
    }
}

fn check(core: &Scheduler, step: &Step<'_>, config: &WorkerConfig, most: u32) -> Result<(), String> {
    let mut kind = WorkerType::like(config);
    kind.workers_max = most;
    let asked = core.demand(step.at, &[kind]);
    let singles: u64 = asked.workers.iter().copied().map(u64::from).sum();
    let idle = Pools::new(&config.resources);
    let fits = |request: &Request| {
        let lives = config.time_limit.is_none_or(|limit| limit > Span::ZERO && request.min_time() <= limit);
        lives && idle.allocate(request).is_some()
    };
    let could_run = |task: &ModelTask| config.runs(task.kind()) && task.profile().variants.iter().any(fits);
    let (mut useful, mut gangs) = (0u64, BTreeMap::new());
    for needs in waiting(step.model).into_iter().filter(|needs| could_run(needs.task)) {
        match needs.variants().get(0).map_or(0, Request::nodes) {
            0 => useful += needs.count,
            nodes => *gangs.entry(nodes).or_default() += needs.count,
        }
    }
    if singles == 0 && useful > 0 {
        return Err(format!("no worker is asked for, and {useful} tasks wait"));
    }
    // What waits behind others in a lane could start on a new worker as well.
    let lanes = step.model.grants.values().filter(|lane| !lane.is_gang);
    let behind = lanes.flat_map(|lane| lane.tasks.iter().filter(|task| lane.running != Some(**task)));
    useful += behind.filter_map(|task| step.model.tasks.get(task)).filter(|task| could_run(task)).count() as u64;
    if singles > useful.min(u64::from(most)) {
        return Err(format!("{singles} workers are asked for, {most} at most, and {useful} tasks wait"));
    }
    match asked.gangs.iter().find(|gang| gang.gangs > gangs.get(&gang.nodes).copied().unwrap_or(0)) {
        Some(gang) => Err(format!("{} gangs of {} are asked for, and {gangs:?} wait", gang.gangs, gang.nodes)),
        None => Ok(()),
    }
}

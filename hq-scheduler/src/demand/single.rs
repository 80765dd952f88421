use std::collections::{BTreeMap, BTreeSet};

use hq_core::{ClassId, Ordinal, Request};

use super::{
    WorkerType,
    waiting::{Queue, Waiting, seen},
};
use crate::{
    Scheduler,
    round::{LANES_MAX, Level, fill_hypothetical, workers_used},
    utilization::cpus_of,
    value::value_in,
};

/// The workers that are there and those that could be had.
pub(super) struct Cluster<'a> {
    /// What they have, in parts.
    totals: BTreeMap<String, u64>,
    /// Resources that workers were ever seen with.
    seen: BTreeSet<&'a str>,
}

/// A way in which tasks of a queue could run on workers of a type.
struct Way {
    /// The queue's place in its level.
    queue: usize,
    request: Request,
    value: u64,
    /// The cpus it uses, in parts.
    cpus: u64,
    /// How many fit on one worker.
    most: u64,
}

/// More workers than that are not tried together.
const TOGETHER_MAX: u32 = 256;

/// How many tasks of each queue one worker gets, level by level.
type Plan = Vec<Vec<u64>>;

impl<'a> Cluster<'a> {
    /// With so many workers of each type.
    pub(super) fn new(core: &'a Scheduler, types: &[WorkerType], workers: &[u32]) -> Self {
        let mut totals = core.mind.totals.clone();
        for (kind, workers) in types.iter().zip(workers) {
            for (name, total) in kind.idle.totals() {
                let all = total.parts().saturating_mul(u64::from(*workers));
                let sum = totals.entry(name.to_owned()).or_default();
                *sum = sum.saturating_add(all);
            }
        }
        Self { totals, seen: seen(core) }
    }

    /// How many workers of a type get something; what they get waits no more.
    pub(super) fn workers_of(&self, core: &Scheduler, kind: &WorkerType, waiting: &mut Waiting) -> u32 {
        let ways: Vec<Vec<Way>> = waiting.levels.iter().map(|level| self.ways(core, kind, level)).collect();
        let before = waiting.clone();
        let mut used = 0;
        while used < kind.workers_max {
            let Some(plan) = plan(kind, &ways, waiting) else { break };
            let times = times(&plan, &ways, waiting).min(u64::from(kind.workers_max - used));
            for (queue, n) in waiting.levels.iter_mut().flatten().zip(plan.iter().flatten()) {
                queue.left = queue.left.saturating_sub(n * times);
            }
            used += times as u32;
        }
        used_at_once(core, kind, &ways, &before, used)
    }

    /// In order of their queues' values, as in a round: the first ones win ties.
    fn ways(&self, core: &Scheduler, kind: &WorkerType, level: &[Queue]) -> Vec<Way> {
        let mut queues: Vec<(std::cmp::Reverse<u64>, Ordinal, usize)> = Vec::new();
        for (at, queue) in level.iter().enumerate() {
            let class = core.state.classes.get(queue.class);
            let values = class.requests.iter().map(|request| value_in(&self.totals, request, &kind.idle));
            if kind.runs(&class.kind) {
                queues.push((std::cmp::Reverse(values.max().unwrap_or(0)), queue.head, at));
            }
        }
        queues.sort_unstable();
        let mut ways = Vec::new();
        for (.., at) in queues {
            let requests = &core.state.classes.get(level[at].class).requests;
            for request in requests.iter().filter_map(|request| kind.adapt(request, |name| self.seen.contains(name))) {
                let value = value_in(&self.totals, &request, &kind.idle);
                let most = u64::from(kind.idle.fits_count(&request, LANES_MAX as u32));
                ways.push(Way { queue: at, value, cpus: cpus_of(&kind.idle, &request).parts(), most, request });
            }
        }
        ways
    }
}

/// How many of so many workers get something when they are all there at once; `before` is what waited before they came.
fn used_at_once(core: &Scheduler, kind: &WorkerType, ways: &[Vec<Way>], before: &Waiting, mut workers: u32) -> u32 {
    if !kind.least_use().is_zero() {
        return workers;
    }
    let levels: Vec<Level<'_>> = ways.iter().zip(&before.levels).map(|(ways, queues)| as_level(ways, queues)).collect();
    let together = as_one_level(core, ways, before);
    while (2..=TOGETHER_MAX).contains(&workers) {
        let used = workers_used(&kind.idle, &levels, together.as_ref(), workers as usize) as u32;
        if used >= workers {
            break;
        }
        workers = used;
    }
    workers
}

fn as_level<'a>(ways: &'a [Way], queues: &[Queue]) -> Level<'a> {
    Level {
        ways: ways.iter().map(|way| (way.queue, &way.request, way.value)).collect(),
        left: queues.iter().map(|queue| queue.left).collect(),
    }
}

/// All levels as one, if a round would try that: the queues from the best rank down, those of one class as one.
fn as_one_level<'a>(core: &Scheduler, ways: &'a [Vec<Way>], waiting: &Waiting) -> Option<Level<'a>> {
    let queues = || waiting.levels.iter().flatten();
    let tasks = queues().map(|queue| queue.left).fold(0, u64::saturating_add);
    if waiting.has_gangs || waiting.levels.len() < 2 || !core.goes_together(tasks) {
        return None;
    }
    let mut whole = Level { ways: vec![], left: vec![] };
    let mut known: BTreeMap<ClassId, usize> = BTreeMap::new();
    for (level, ways) in waiting.levels.iter().zip(ways) {
        let mut queues: Vec<(usize, &Queue)> = level.iter().enumerate().collect();
        queues.sort_unstable_by_key(|(_, queue)| queue.head);
        for (at, queue) in queues {
            let lot = *known.entry(queue.class).or_insert(whole.left.len());
            if lot == whole.left.len() {
                whole.left.push(0);
                let own = ways.iter().filter(|way| way.queue == at);
                whole.ways.extend(own.map(|way| (lot, &way.request, way.value)));
            }
            whole.left[lot] = whole.left[lot].saturating_add(queue.left);
        }
    }
    Some(whole)
}

/// What the next worker gets; nothing where no task fits, or too little of it would be used.
fn plan(kind: &WorkerType, ways: &[Vec<Way>], waiting: &Waiting) -> Option<Plan> {
    let least = kind.least_use();
    // What is worth most may use too little where something else would use enough.
    let aims: [fn(&Way) -> u64; 2] = [|way| way.value, |way| way.cpus];
    for value in aims {
        let mut pools = kind.idle.clone();
        let mut room = LANES_MAX as u64;
        let mut plan: Plan = Vec::with_capacity(ways.len());
        for (ways, level) in ways.iter().zip(&waiting.levels) {
            let left: Vec<u64> = level.iter().map(|queue| queue.left).collect();
            let options = ways.iter().map(|way| (way.queue, &way.request, value(way)));
            let counts = fill_hypothetical(&mut pools, options, &left, room);
            room -= counts.iter().sum::<u64>();
            plan.push(counts);
        }
        if room == LANES_MAX as u64 {
            return None;
        }
        if pools.uses_cpus() >= least {
            return Some(plan);
        }
    }
    None
}

/// How many workers one after the other get the same: as long as of no queue so little is left that it matters.
fn times(plan: &Plan, ways: &[Vec<Way>], waiting: &Waiting) -> u64 {
    let mut times = u64::MAX;
    for ((counts, ways), level) in plan.iter().zip(ways).zip(&waiting.levels) {
        for (at, (n, queue)) in counts.iter().zip(level).enumerate() {
            let most: u64 = ways.iter().filter(|way| way.queue == at).map(|way| way.most).sum();
            let more = queue.left.saturating_sub(most).checked_div(*n);
            times = times.min(more.map_or(u64::MAX, |more| more + u64::from(queue.left >= most)));
        }
    }
    times.max(1)
}

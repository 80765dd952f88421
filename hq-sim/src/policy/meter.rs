use std::collections::{BTreeMap, BTreeSet};

use hq_core::{Amount, GrantId, Ordinal, Outcome, ResourceName, Span, Tick, WorkerConfig, WorkerId};

use super::{
    fleet::Change,
    report::{Report, Run, Waits},
    strands::Strands,
    usage::Usage,
};
use crate::workload::Workload;

/// Shorter runs count as that long in the bounded slowdown.
const THRESHOLD: Span = Span::secs(10);
/// Slowdowns are summed in millionths.
const SCALE: u128 = 1_000_000;

/// What all tasks of a class take: position of the resource, parts.
type Taken = Vec<(usize, u64)>;

/// Measures runs as they happen.
#[derive(Debug)]
pub(super) struct Meter {
    usage: Vec<Usage>,
    used: Vec<u64>,
    offered: Vec<u64>,
    /// All that a worker has: what it gives to a gang.
    workers: BTreeMap<WorkerId, Taken>,
    /// Grants without indices: gangs that are formed, by their workers.
    pub(super) gangs: BTreeMap<GrantId, Vec<WorkerId>>,
    running: BTreeMap<Ordinal, (GrantId, Taken)>,
    strands: Strands,
    runs: Vec<Option<Run>>,
    finished: u64,
    lost: u64,
    last: Tick,
    pub(super) decisions: u64,
    pub(super) rounds: u64,
    pub(super) facts: u64,
}

impl Meter {
    /// Of workers that come and go.
    pub(super) fn new<'a>(workers: impl Iterator<Item = &'a WorkerConfig> + Clone, workload: &Workload) -> Self {
        let names: BTreeSet<&ResourceName> =
            workers.clone().flat_map(|config| config.resources.resources()).map(|def| &def.name).collect();
        let usage: Vec<Usage> = names.into_iter().map(|name| Usage::new(name.clone())).collect();
        Self {
            used: vec![0; usage.len()],
            offered: vec![0; usage.len()],
            usage,
            workers: BTreeMap::new(),
            gangs: BTreeMap::new(),
            running: BTreeMap::new(),
            strands: Strands::new(workers, workload),
            runs: vec![None; workload.jobs().len()],
            finished: 0,
            lost: 0,
            last: Tick(0),
            decisions: 0,
            rounds: 0,
            facts: 0,
        }
    }

    /// A worker is there.
    pub(super) fn join(&mut self, now: Tick, worker: WorkerId, config: &WorkerConfig) {
        let defs = config.resources.resources().iter();
        let all: Taken =
            defs.filter_map(|def| Some((position(&self.usage, &def.name)?, def.kind.total().parts()))).collect();
        for (resource, parts) in &all {
            self.offered[*resource] = self.offered[*resource].saturating_add(*parts);
            self.usage[*resource].offer(now, Amount::from_parts(self.offered[*resource]));
        }
        self.workers.insert(worker, all);
        self.strands.join(now, worker, config);
    }

    /// A worker is gone. Gangs of which it was not the main one go on without it.
    pub(super) fn leave(&mut self, now: Tick, worker: WorkerId) {
        self.strands.leave(now, worker);
        let all = self.workers.remove(&worker).unwrap_or_default();
        for (resource, parts) in &all {
            self.offered[*resource] = self.offered[*resource].saturating_sub(*parts);
            self.usage[*resource].offer(now, Amount::from_parts(self.offered[*resource]));
        }
        let gangs = &self.gangs;
        let of_gang = |grant: &GrantId| gangs.get(grant).is_some_and(|members| members.contains(&worker));
        for (_, taken) in self.running.values_mut().filter(|(grant, _)| of_gang(grant)) {
            for (resource, parts) in &all {
                if let Some(at) = taken.iter().position(|of| of == &(*resource, *parts)) {
                    taken.swap_remove(at);
                    self.used[*resource] -= parts;
                    self.usage[*resource].set(now, Amount::from_parts(self.used[*resource]));
                }
            }
        }
    }

    /// Something happened to a run; `index` is the task's place in the workload.
    pub(super) fn observe(&mut self, now: Tick, index: usize, change: Change) {
        match change {
            Change::Begun { grant, worker, task, is_gang, allocation } => {
                let taken: Taken = match self.gangs.get(&grant) {
                    Some(members) if is_gang => {
                        members.iter().filter_map(|member| self.workers.get(member)).flatten().copied().collect()
                    }
                    _ => allocation
                        .0
                        .iter()
                        .filter_map(|granted| Some((position(&self.usage, &granted.resource)?, granted.amount.parts())))
                        .collect(),
                };
                for (resource, parts) in &taken {
                    self.used[*resource] += parts;
                    self.usage[*resource].set(now, Amount::from_parts(self.used[*resource]));
                }
                self.running.insert(task, (grant, taken));
                let gang = if is_gang { self.gangs.get(&grant).cloned() } else { None };
                self.strands.begin(now, task, worker, gang, allocation);
                if let Some(run) = self.runs.get_mut(index) {
                    *run = Some(Run { worker, start: now, end: None });
                }
            }
            Change::Ended { task, outcome } => {
                for (resource, parts) in self.running.remove(&task).map(|(_, taken)| taken).unwrap_or_default() {
                    self.used[resource] -= parts;
                    self.usage[resource].set(now, Amount::from_parts(self.used[resource]));
                }
                self.strands.end(now, task);
                if let Some(Some(run)) = self.runs.get_mut(index) {
                    run.end = Some(now);
                }
                match outcome {
                    Outcome::Finished => self.finished += 1,
                    Outcome::Failed(_) | Outcome::FailedOf(_) | Outcome::Killed => self.lost += 1,
                }
            }
        }
        self.last = now;
    }

    /// Tasks that ended well.
    pub(super) const fn finished(&self) -> u64 {
        self.finished
    }

    /// The figures; `cut` is when it was ended, if not by itself.
    pub(super) fn report(mut self, workload: &Workload, arrived: usize, cut: Option<Tick>) -> Report {
        let from = Tick(workload.jobs().first().map_or(0, |job| job.arrival.0));
        let to = cut.unwrap_or(self.last).max(from);
        let mut useless = self.strands.finish(&self.usage);
        for usage in self.usage.iter_mut().chain(&mut useless) {
            (usage.from, usage.to) = (from, to);
        }
        let mut waits = Vec::new();
        let mut slowdowns = Slowdowns::default();
        for (job, run) in workload.jobs().iter().zip(&self.runs) {
            let Some(run) = run else { continue };
            let met = job.deps.iter().filter_map(|on| self.runs[*on]?.end).max();
            let wait = run.start.since(Tick(job.arrival.0).max(met.unwrap_or_default()));
            waits.push(wait);
            slowdowns.add(wait, job.run, job.user);
        }
        Report {
            arrived: arrived as u64,
            started: waits.len() as u64,
            finished: self.finished,
            lost: self.lost,
            makespan: to.since(from),
            waits: Waits::new(waits),
            slowdown_mean: slowdowns.mean(),
            slowdown_p95: slowdowns.percentile(95),
            slowdown_max: slowdowns.percentile(100),
            jain: slowdowns.jain(),
            decisions: self.decisions,
            rounds: self.rounds,
            facts: self.facts,
            usage: self.usage,
            useless,
            runs: self.runs,
        }
    }
}

fn position(usage: &[Usage], name: &ResourceName) -> Option<usize> {
    usage.binary_search_by(|usage| usage.resource.cmp(name)).ok()
}

/// In millionths.
#[derive(Default)]
struct Slowdowns {
    all: Vec<u64>,
    users: BTreeMap<u32, Sum>,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    sum: u128,
    count: u64,
}

impl Sum {
    fn add(&mut self, slowdown: u64) {
        self.sum += u128::from(slowdown);
        self.count += 1;
    }

    fn mean(self) -> f64 {
        self.sum as f64 / (SCALE * u128::from(self.count.max(1))) as f64
    }
}

impl Slowdowns {
    fn add(&mut self, wait: Span, run: Span, user: Option<u32>) {
        let slowdown = (u128::from(wait.0) + u128::from(run.0)) * SCALE / u128::from(run.max(THRESHOLD).0);
        let slowdown = u64::try_from(slowdown.max(SCALE)).unwrap_or(u64::MAX);
        self.all.push(slowdown);
        if let Some(user) = user {
            self.users.entry(user).or_default().add(slowdown);
        }
    }

    fn mean(&self) -> f64 {
        let mut sum = Sum::default();
        self.all.iter().for_each(|slowdown| sum.add(*slowdown));
        sum.mean()
    }

    /// By nearest rank; 0 without any.
    fn percentile(&mut self, percent: usize) -> f64 {
        self.all.sort_unstable();
        let rank = (self.all.len() * percent).div_ceil(100).max(1);
        self.all.get(rank - 1).map_or(0.0, |slowdown| *slowdown as f64 / SCALE as f64)
    }

    fn jain(&self) -> Option<f64> {
        let means: Vec<f64> = self.users.values().map(|sum| sum.mean()).collect();
        let (sum, squares) = means.iter().fold((0.0, 0.0), |(sum, squares), mean| (sum + mean, squares + mean * mean));
        (!means.is_empty()).then(|| sum * sum / (means.len() as f64 * squares))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slowdowns_are_bounded() {
        for (wait, run, expected) in [(0, 100, 1.0), (100, 100, 2.0), (5, 1, 1.0), (29, 1, 3.0), (0, 0, 1.0)] {
            let mut slowdowns = Slowdowns::default();
            slowdowns.add(Span::secs(wait), Span::secs(run), None);
            assert_eq!((slowdowns.mean(), slowdowns.jain()), (expected, None), "{wait} {run}");
        }
    }

    #[test]
    fn jains_index_is_over_users() {
        let mut slowdowns = Slowdowns::default();
        for (user, wait) in [(1, 0), (1, 200), (2, 100)] {
            slowdowns.add(Span::secs(wait), Span::secs(100), Some(user));
        }
        assert_eq!(slowdowns.jain(), Some(1.0), "both have a mean of 2");
        slowdowns.add(Span::secs(500), Span::secs(100), Some(3));
        assert_eq!(slowdowns.jain(), Some(100.0 / (3.0 * 44.0)));
    }
}

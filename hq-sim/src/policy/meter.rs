use std::collections::BTreeMap;

use hq_core::{Amount, GrantId, Ordinal, Outcome, ResourceName, Span, Tick, WorkerConfig, WorkerId};

use super::{
    fleet::Change,
    report::{Report, Run, Waits},
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
    /// All that a worker has: what it gives to a gang.
    workers: BTreeMap<WorkerId, Taken>,
    /// Grants without indices: gangs that are formed, by their workers.
    pub(super) gangs: BTreeMap<GrantId, Vec<WorkerId>>,
    running: BTreeMap<Ordinal, Taken>,
    runs: Vec<Option<Run>>,
    finished: u64,
    last: Tick,
    pub(super) decisions: u64,
    pub(super) rounds: u64,
    pub(super) facts: u64,
}

impl Meter {
    /// Of workers with ids from 1 on.
    pub(super) fn new(workers: &[WorkerConfig], tasks: usize) -> Self {
        let mut totals: BTreeMap<ResourceName, Amount> = BTreeMap::new();
        for def in workers.iter().flat_map(|config| config.resources.resources()) {
            let total = totals.entry(def.name.clone()).or_default();
            *total = total.checked_add(def.kind.total()).unwrap_or(*total);
        }
        let usage: Vec<Usage> = totals.into_iter().map(|(name, total)| Usage::new(name, total)).collect();
        let all = |config: &WorkerConfig| -> Taken {
            let defs = config.resources.resources().iter();
            defs.filter_map(|def| Some((position(&usage, &def.name)?, def.kind.total().parts()))).collect()
        };
        let workers = workers.iter().zip(1..).map(|(config, id)| (WorkerId(id), all(config))).collect();
        Self {
            used: vec![0; usage.len()],
            usage,
            workers,
            gangs: BTreeMap::new(),
            running: BTreeMap::new(),
            runs: vec![None; tasks],
            finished: 0,
            last: Tick(0),
            decisions: 0,
            rounds: 0,
            facts: 0,
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
                self.running.insert(task, taken);
                if let Some(run) = self.runs.get_mut(index) {
                    *run = Some(Run { worker, start: now, end: None });
                }
            }
            Change::Ended { task, outcome } => {
                for (resource, parts) in self.running.remove(&task).unwrap_or_default() {
                    self.used[resource] -= parts;
                    self.usage[resource].set(now, Amount::from_parts(self.used[resource]));
                }
                if let Some(Some(run)) = self.runs.get_mut(index) {
                    run.end = Some(now);
                }
                self.finished += u64::from(outcome == Outcome::Finished);
            }
        }
        self.last = now;
    }

    /// The figures; `cut` is when it was ended, if not by itself.
    pub(super) fn report(mut self, workload: &Workload, arrived: usize, cut: Option<Tick>) -> Report {
        let from = Tick(workload.jobs().first().map_or(0, |job| job.arrival.0));
        let to = cut.unwrap_or(self.last).max(from);
        for usage in &mut self.usage {
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
            makespan: to.since(from),
            waits: Waits::new(waits),
            slowdown_mean: slowdowns.all.mean(),
            slowdown_max: slowdowns.max as f64 / SCALE as f64,
            jain: slowdowns.jain(),
            decisions: self.decisions,
            rounds: self.rounds,
            facts: self.facts,
            usage: self.usage,
            runs: self.runs,
        }
    }
}

fn position(usage: &[Usage], name: &ResourceName) -> Option<usize> {
    usage.binary_search_by(|usage| usage.resource.cmp(name)).ok()
}

#[derive(Default)]
struct Slowdowns {
    all: Sum,
    max: u128,
    users: BTreeMap<u32, Sum>,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    sum: u128,
    count: u64,
}

impl Sum {
    fn mean(self) -> f64 {
        self.sum as f64 / (SCALE * u128::from(self.count.max(1))) as f64
    }
}

impl Slowdowns {
    fn add(&mut self, wait: Span, run: Span, user: Option<u32>) {
        let slowdown = (u128::from(wait.0) + u128::from(run.0)) * SCALE / u128::from(run.max(THRESHOLD).0);
        let slowdown = slowdown.max(SCALE);
        self.max = self.max.max(slowdown);
        let of_user = user.map(|user| self.users.entry(user).or_default());
        for sum in [Some(&mut self.all), of_user].into_iter().flatten() {
            sum.sum += slowdown;
            sum.count += 1;
        }
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
            assert_eq!((slowdowns.all.mean(), slowdowns.jain()), (expected, None), "{wait} {run}");
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

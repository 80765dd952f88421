use std::collections::{BTreeMap, BTreeSet};

use hq_core::{Allocation, Amount, Ordinal, Tick, WorkerConfig, WorkerId};
use hq_scheduler::{policy::Typical, pool::Pools};

use super::usage::Usage;
use crate::workload::Workload;

/// Follows what of the free resources the tasks of a workload cannot use.
#[derive(Debug)]
pub(super) struct Strands {
    typical: Typical,
    workers: BTreeMap<WorkerId, Free>,
    /// What tasks have, and where; those of a gang have all there is.
    running: BTreeMap<Ordinal, (Vec<WorkerId>, Allocation)>,
    /// Workers that changed at the present moment.
    changed: BTreeSet<WorkerId>,
    now: Tick,
    /// Per resource; parts of all workers.
    sums: Vec<u64>,
    usage: Vec<Usage>,
}

#[derive(Debug)]
struct Free {
    pools: Pools,
    in_gang: bool,
    is_gone: bool,
    /// Per resource, as it is part of the sums.
    useless: Vec<u64>,
}

impl Strands {
    /// Of these workers, which are yet to come.
    pub(super) fn new<'a>(workers: impl Iterator<Item = &'a WorkerConfig>, workload: &Workload) -> Self {
        let mut counts = BTreeMap::new();
        for job in workload.jobs() {
            *counts.entry(&job.request).or_insert(0) += 1;
        }
        let classes = counts.into_iter().map(|(variants, count)| (variants.iter(), count));
        let typical = Typical::new(classes, workers.map(|config| &config.resources));
        let usage: Vec<Usage> = typical.resources().map(|name| Usage::new(name.clone())).collect();
        Self {
            workers: BTreeMap::new(),
            running: BTreeMap::new(),
            changed: BTreeSet::new(),
            now: Tick(0),
            sums: vec![0; usage.len()],
            usage,
            typical,
        }
    }

    pub(super) fn join(&mut self, now: Tick, worker: WorkerId, config: &WorkerConfig) {
        self.go_to(now);
        let useless = vec![0; self.sums.len()];
        let free = Free { pools: Pools::new(&config.resources), in_gang: false, is_gone: false, useless };
        self.workers.insert(worker, free);
        self.changed.insert(worker);
    }

    pub(super) fn leave(&mut self, now: Tick, worker: WorkerId) {
        self.change(now, worker, |free| free.is_gone = true);
    }

    /// A task runs, and has that of a worker; or all of several as a gang.
    pub(super) fn begin(
        &mut self,
        now: Tick,
        task: Ordinal,
        worker: WorkerId,
        gang: Option<Vec<WorkerId>>,
        allocation: Allocation,
    ) {
        let is_gang = gang.is_some();
        let workers = gang.unwrap_or_else(|| vec![worker]);
        for worker in &workers {
            self.change(now, *worker, |free| {
                free.in_gang = is_gang;
                free.pools.take(&allocation);
            });
        }
        self.running.insert(task, (workers, allocation));
    }

    /// It gives it back.
    pub(super) fn end(&mut self, now: Tick, task: Ordinal) {
        let Some((workers, allocation)) = self.running.remove(&task) else { return };
        for worker in workers {
            self.change(now, worker, |free| {
                free.in_gang = false;
                free.pools.release(&allocation);
            });
        }
    }

    /// Per resource, until now; `usage` says what was there.
    pub(super) fn finish(mut self, usage: &[Usage]) -> Vec<Usage> {
        self.settle();
        for useless in &mut self.usage {
            if let Some(usage) = usage.iter().find(|usage| usage.resource == useless.resource) {
                (useless.total, useless.offered) = (usage.total, usage.offered.clone());
            }
        }
        self.usage
    }

    fn change(&mut self, now: Tick, worker: WorkerId, change: impl FnOnce(&mut Free)) {
        self.go_to(now);
        self.changed.insert(worker);
        self.workers.get_mut(&worker).map(change);
    }

    fn go_to(&mut self, now: Tick) {
        if now != self.now {
            self.settle();
            self.now = now;
        }
    }

    /// Books the present moment.
    fn settle(&mut self) {
        for worker in std::mem::take(&mut self.changed) {
            let Some(free) = self.workers.get_mut(&worker) else { continue };
            let useless: Vec<u64> = if free.in_gang || free.is_gone {
                vec![0; self.sums.len()]
            } else {
                self.typical.useless(&free.pools).map(Amount::parts).collect()
            };
            for ((sum, new), old) in self.sums.iter_mut().zip(&useless).zip(&free.useless) {
                *sum = (*sum + new).saturating_sub(*old);
            }
            free.useless = useless;
        }
        for (usage, sum) in self.usage.iter_mut().zip(&self.sums) {
            usage.set(self.now, Amount::from_parts(*sum));
        }
    }
}

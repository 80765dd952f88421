//! The core's plan for an instance: one round on idle workers.

use std::collections::BTreeMap;

use hq_core::{Fact, Ordinal, Quantity, Request, Tick, WorkerResources};
use hq_scheduler::{Action, Scheduler};
use hq_sim::workload::generate::{PlanClass, PlanInstance};

/// What was started.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Of all that was started.
    pub(crate) value: f64,
    /// How often: worker (from 1), class, variant.
    #[expect(dead_code, reason = "to be shown")]
    pub(crate) counts: BTreeMap<(u32, usize, usize), u64>,
}

pub(crate) fn of_core(instance: &PlanInstance) -> Plan {
    let mut core = Scheduler::new();
    core.boot(Tick(0), "uid".into(), 0, "1".into());
    for config in instance.configs() {
        core.join(Tick(0), config).unwrap();
    }
    let mut bases: BTreeMap<Ordinal, usize> = BTreeMap::new();
    for (class, submit) in instance.submits().enumerate() {
        let job = core.submit(Tick(0), submit).unwrap();
        bases.insert(core.job(job).unwrap().submits[0].0, class);
    }
    let mut counts: BTreeMap<(u32, usize, usize), u64> = BTreeMap::new();
    while let Some(action) = core.poll_action(Tick(0)) {
        if let Action::Record(Fact::GrantOpened { workers, variant, tasks, .. }) = action {
            let class = *bases.range(..=tasks[0].start).next_back().unwrap().1;
            *counts.entry((workers[0].0, class, usize::from(variant))).or_insert(0) += 1;
        }
    }
    let worth = Worth::new(instance);
    let value = counts.iter().map(|((_, class, variant), n)| {
        worth.of(instance.classes[*class].variants.get(*variant as u8).unwrap()) * *n as f64
    });
    Plan { value: value.sum(), counts }
}

/// `cpus 4, gpus 2 / cpus 1; 2x cpus 3 | 1 cpus, 1 gpus`.
pub(crate) fn shown(instance: &PlanInstance) -> String {
    let worker = |worker: &WorkerResources| {
        let defs = worker.resources().iter().map(|def| format!("{} {}", def.name, def.kind.total()));
        defs.collect::<Vec<_>>().join(", ")
    };
    let class = |class: &PlanClass| {
        let request = |request: &Request| {
            let entries = request.entries().iter().map(|entry| format!("{} {}", entry.resource, entry.quantity));
            let weight = request.weight();
            entries.chain((weight != 10_000).then(|| format!("weight {weight}"))).collect::<Vec<_>>().join(", ")
        };
        let variants: Vec<String> = class.variants.iter().map(request).collect();
        format!("{}x {}", class.count, variants.join(" | "))
    };
    let lines = instance.workers.iter().map(worker).chain(["--".to_owned()]).chain(instance.classes.iter().map(class));
    lines.collect::<Vec<_>>().join("\n")
}

/// The value of a plan as protocols.md 6 defines it: weight × Σ over resources of amount ÷ cluster total.
pub(crate) struct Worth(BTreeMap<String, u64>);

impl Worth {
    pub(crate) fn new(instance: &PlanInstance) -> Self {
        let mut totals = BTreeMap::new();
        for def in instance.workers.iter().flat_map(|worker| worker.resources()) {
            *totals.entry(def.name.as_str().to_owned()).or_insert(0) += def.kind.total().parts();
        }
        Self(totals)
    }

    /// Of one task; nothing where no worker has the resource.
    pub(crate) fn of(&self, request: &Request) -> f64 {
        let share = |entry: &hq_core::ResourceEntry| {
            let Quantity::Amount(amount, _) = entry.quantity else { panic!("`all` has no value of its own") };
            let total = self.0.get(entry.resource.as_str()).copied();
            total.map_or(0.0, |total| amount.parts() as f64 / total as f64)
        };
        request.entries().iter().map(share).sum::<f64>() * f64::from(request.weight()) / 10_000.0
    }
}

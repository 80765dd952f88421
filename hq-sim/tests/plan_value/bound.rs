//! No plan is worth more: a linear program over (class, variant, kind of worker).
//!
//! Rows: the amount of each resource; the tasks that wait; and for shared indices, that at most ⌊1/f⌋ parts of at least f come
//! from one index. A variable is at most what really fits on idle workers. Equal workers are one: the mean of their loads
//! is a load of each that is allowed and worth as much.

use std::collections::BTreeSet;

use hq_core::{Amount, Quantity, Request, ResourceKind, WorkerResources};
use hq_scheduler::pool::Pools;
use hq_sim::workload::generate::PlanInstance;
use microlp::{ComparisonOp, OptimizationDirection, Problem, Variable};

use crate::plan::Worth;

/// An upper bound of the value of any plan.
pub(crate) fn bound(instance: &PlanInstance) -> f64 {
    let worth = Worth::new(instance);
    // Brings coefficients near to 1.
    let scale = instance.workers.len() as f64 * 100.0;
    let mut problem = Problem::new(OptimizationDirection::Maximize);
    let mut of_class: Vec<Vec<(Variable, f64)>> = vec![vec![]; instance.classes.len()];
    for (worker, n) in kinds(&instance.workers) {
        let pools = Pools::new(worker);
        let mut loads: Vec<(Variable, &Request)> = vec![];
        for (i, class) in instance.classes.iter().enumerate() {
            for request in class.variants.iter() {
                let fits = f64::from(pools.fits_count(request, class.count.try_into().unwrap_or(u32::MAX)));
                if fits > 0.0 {
                    let variable = problem.add_var(worth.of(request) * scale, (0.0, fits * n));
                    loads.push((variable, request));
                    of_class[i].push((variable, 1.0));
                }
            }
        }
        for def in worker.resources() {
            let name = def.name.as_str();
            let total = def.kind.total();
            let row = |of: &dyn Fn(Amount) -> f64| -> Vec<(Variable, f64)> {
                let term = |(variable, request): &(Variable, &Request)| (*variable, of(amount(request, name)));
                loads.iter().map(term).filter(|(_, takes)| *takes > 0.0).collect()
            };
            let mut add = |row: Vec<(Variable, f64)>| {
                problem.add_constraint(&row, ComparisonOp::Le, units(total) * n);
            };
            add(row(&units));
            if matches!(def.kind, ResourceKind::Sum(_)) {
                continue;
            }
            let parts: BTreeSet<u64> = loads.iter().map(|(_, request)| amount(request, name).fraction()).collect();
            for part in parts.into_iter().filter(|part| *part > 0) {
                let per_index = (Amount::PARTS / part) as f64;
                add(row(&|amount| {
                    amount.whole() as f64 + if amount.fraction() >= part { 1.0 / per_index } else { 0.0 }
                }));
            }
        }
    }
    for (class, row) in instance.classes.iter().zip(of_class) {
        problem.add_constraint(&row, ComparisonOp::Le, class.count as f64);
    }
    problem.solve().unwrap().into_solution().unwrap().objective() / scale
}

/// Workers that are equal, and how many they are.
fn kinds(workers: &[WorkerResources]) -> Vec<(&WorkerResources, f64)> {
    let mut kinds: Vec<(&WorkerResources, f64)> = vec![];
    for worker in workers {
        match kinds.iter_mut().find(|(known, _)| *known == worker) {
            Some((_, n)) => *n += 1.0,
            None => kinds.push((worker, 1.0)),
        }
    }
    kinds
}

fn amount(request: &Request, name: &str) -> Amount {
    let entry = request.entries().iter().find(|entry| entry.resource.as_str() == name);
    match entry.map(|entry| entry.quantity) {
        Some(Quantity::Amount(amount, _)) => amount,
        Some(Quantity::All) => panic!("the bound knows no `all`"),
        None => Amount::ZERO,
    }
}

fn units(amount: Amount) -> f64 {
    amount.parts() as f64 / Amount::PARTS as f64
}

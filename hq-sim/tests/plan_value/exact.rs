//! The best plan of a small instance: all that each worker could run, in any order of taking, by the core's own pools.

use std::collections::BTreeMap;

use hq_core::{Request, WorkerResources};
use hq_scheduler::pool::{Pools, Signature};
use hq_sim::workload::generate::PlanInstance;

use crate::plan::Worth;

/// How many tasks of each class.
type Counts = Vec<u64>;

/// The value of the best plan.
pub(crate) fn optimum(instance: &PlanInstance) -> f64 {
    let worth = Worth::new(instance);
    let waiting: Counts = instance.classes.iter().map(|class| class.count).collect();
    let mut best: BTreeMap<Counts, f64> = BTreeMap::from([(vec![0; waiting.len()], 0.0)]);
    for worker in &instance.workers {
        let sets = sets_on(instance, &worth, worker, &waiting);
        let mut next: BTreeMap<Counts, f64> = BTreeMap::new();
        for (before, value) in &best {
            for (more, worth) in &sets {
                let counts: Counts = before.iter().zip(more).map(|(a, b)| a + b).collect();
                if counts.iter().zip(&waiting).all(|(n, most)| n <= most) {
                    let known = next.entry(counts).or_insert(0.0);
                    *known = known.max(value + worth);
                }
            }
        }
        best = next;
    }
    best.into_values().fold(0.0, f64::max)
}

/// All sets of tasks that fit on a worker, each with the value of the best choice of variants.
fn sets_on(
    instance: &PlanInstance,
    worth: &Worth,
    worker: &WorkerResources,
    waiting: &Counts,
) -> BTreeMap<Counts, f64> {
    let options: Vec<(usize, &Request)> = instance
        .classes
        .iter()
        .enumerate()
        .flat_map(|(class, known)| known.variants.iter().map(move |request| (class, request)))
        .collect();
    // By how often each option was taken: the free states that this can lead to.
    let idle = Pools::new(worker);
    let mut layer: BTreeMap<Counts, BTreeMap<Signature, Pools>> = BTreeMap::new();
    layer.insert(vec![0; options.len()], BTreeMap::from([(idle.signature(), idle)]));
    let mut sets = BTreeMap::new();
    while !layer.is_empty() {
        let mut next: BTreeMap<Counts, BTreeMap<Signature, Pools>> = BTreeMap::new();
        for (taken, states) in &layer {
            let mut counts = vec![0; waiting.len()];
            let mut value = 0.0;
            for (n, (class, request)) in taken.iter().zip(&options) {
                counts[*class] += n;
                value += worth.of(request) * *n as f64;
            }
            for (i, (_, request)) in
                options.iter().enumerate().filter(|(_, (class, _))| counts[*class] < waiting[*class])
            {
                for state in states.values() {
                    let mut state = state.clone();
                    let Some(allocation) = state.allocate(request) else { continue };
                    assert!(state.take(&allocation));
                    let mut more = taken.clone();
                    more[i] += 1;
                    next.entry(more).or_default().insert(state.signature(), state);
                }
            }
            let known = sets.entry(counts).or_insert(0.0f64);
            *known = known.max(value);
        }
        layer = next;
    }
    sets
}

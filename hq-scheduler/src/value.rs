//! What a placement is worth: the weighted share of the cluster that it puts to use. Fixed point, no floats.

use std::collections::BTreeMap;

use hq_core::{Amount, ClassId, Quantity, Request, WorkerConfig};

use crate::{
    Scheduler,
    pool::Pools,
    state::{Class, Worker},
};

/// One whole cluster's worth of one resource at weight 1.
const SCALE: u128 = 1 << 24;

impl Scheduler {
    /// Weight × Σ over resources of amount ÷ cluster total; compared within one level only.
    pub(crate) fn value(&self, request: &Request, pools: &Pools) -> u64 {
        value_in(&self.mind.totals, request, pools)
    }

    /// Adds a worker's resources to the cluster's, or takes them away.
    pub(crate) fn count_resources(&mut self, config: &WorkerConfig, add: bool) {
        self.mind.known_places.clear();
        for def in config.resources.resources() {
            let total = self.mind.totals.entry(def.name.as_str().to_owned()).or_insert(0);
            let amount = def.kind.total().parts();
            *total = if add { total.saturating_add(amount) } else { total.saturating_sub(amount) };
        }
    }

    /// Makes sure that it is known which workers could ever run a class.
    pub(crate) fn learn_capable(&mut self, class: ClassId) {
        let (known, workers) = (self.state.classes.get(class), &self.state.workers);
        self.mind.makes.learn(class, known, |worker| workers.get(&worker));
    }
}

/// The value of a placement in a cluster with these totals, in parts.
pub(crate) fn value_in(totals: &BTreeMap<String, u64>, request: &Request, pools: &Pools) -> u64 {
    let share = |name: &str, amount: Amount| {
        let total = totals.get(name).copied().unwrap_or(0).max(1);
        u128::from(amount.parts()) * SCALE / u128::from(total)
    };
    let sum: u128 = request
        .entries()
        .iter()
        .map(|entry| {
            let name = entry.resource.as_str();
            share(name, amount_on(pools, name, entry.quantity))
        })
        .fold(0, u128::saturating_add);
    u64::try_from(sum.saturating_mul(u128::from(request.weight())) / u128::from(Amount::PARTS)).unwrap_or(u64::MAX)
}

/// What a quantity comes to on a worker.
pub(crate) fn amount_on(pools: &Pools, name: &str, quantity: Quantity) -> Amount {
    match quantity {
        Quantity::Amount(amount, _) => amount,
        Quantity::All => pools.total(name),
    }
}

/// Whether a worker could run the class when it is idle, time left aside.
pub(crate) fn could_ever(class: &Class, worker: &Worker) -> bool {
    worker.config.runs(&class.kind)
        && (class.is_gang() || class.requests.iter().any(|request| worker.pools.could_ever(request)))
}

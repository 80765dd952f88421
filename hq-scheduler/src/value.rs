//! What a placement is worth: the weighted share of the cluster that it puts to use. Fixed point, no floats.

use std::collections::BTreeMap;

use hq_core::{Amount, ClassId, Quantity, Request, ResourceEntry, WorkerConfig};

use crate::{
    Scheduler,
    pool::Pools,
    state::{Class, Worker},
};

/// About what a whole cluster's worth of one resource comes to at weight 1.
const SCALE: u64 = 1 << 48;
/// So many parts make one of a resource.
const ONE: u64 = Amount::PARTS;

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

/// The value of a placement in a cluster with these totals. So much of a resource is worth as much in one piece as in many, so that
/// ties are ties: exactly for whole amounts, and for shares unless the cluster has more than 2^30 of the resource.
pub(crate) fn value_in(totals: &BTreeMap<String, u64>, request: &Request, pools: &Pools) -> u64 {
    let worth = |entry: &ResourceEntry| {
        let name = entry.resource.as_str();
        let one = worth_of_one(totals.get(name).copied().unwrap_or(0));
        in_ones(amount_on(pools, name, entry.quantity).parts().into(), one)
    };
    let sum = request.entries().iter().map(worth).fold(0, u128::saturating_add);
    u64::try_from(in_ones(sum, request.weight().into())).unwrap_or(u64::MAX)
}

/// What one of a resource is worth, of which there is so much.
fn worth_of_one(total: u64) -> u64 {
    let one = (SCALE * ONE / total.max(1)).max(1);
    // So that shares of it are whole numbers, where that makes no difference otherwise.
    if one > ONE << 8 { one - one % ONE } else { one }
}

/// The product of two numbers of which one is in parts.
fn in_ones(n: u128, factor: u64) -> u128 {
    // Nearly always the product is short, and a long division is not.
    match u64::try_from(n).ok().and_then(|n| n.checked_mul(factor)) {
        Some(product) => (product / ONE).into(),
        None => n.saturating_mul(factor.into()) / u128::from(ONE),
    }
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

#[cfg(test)]
mod tests {
    use hq_core::WorkerResources;

    use super::*;

    /// Two of two cpus are worth as much as one of four, and ten tenths as much as a whole one, in a cluster of any size.
    #[test]
    fn pieces_are_worth_as_much_as_the_whole() {
        let pools = Pools::new(&WorkerResources::cpus(64).unwrap());
        let value = |totals: &BTreeMap<String, u64>, cpus: &str| {
            let entry = ResourceEntry::parse(&format!("cpus={cpus}")).unwrap();
            value_in(totals, &Request::new(vec![entry]).unwrap(), &pools)
        };
        for total in (1..if cfg!(miri) { 20 } else { 2_000 }).chain([64_013, 1_000_003, 77_777_777]) {
            let totals = BTreeMap::from([("cpus".to_owned(), Amount::units(total).parts())]);
            let one = value(&totals, "1");
            assert!(one > 0);
            for whole in [2, 3, 7, 64] {
                assert_eq!(value(&totals, &whole.to_string()), whole * one, "{whole} of {total}");
            }
            for (share, n) in [("0.5", 2), ("0.1", 10), ("0.0001", 10_000)] {
                assert_eq!(value(&totals, share) * n, one, "{share} of {total}");
            }
        }
    }
}

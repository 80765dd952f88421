use hq_core::{Amount, Policy, Quantity, Request};

use super::free::Free;

/// What is free of one resource of a worker, in parts: enough to tell what fits, strict policies left aside.
#[derive(Clone, Debug, Default)]
pub(crate) struct Glance {
    total: u64,
    pub(crate) free: u64,
    /// The most that one request could get.
    largest: u64,
    /// What is free of used indices, and all of it together.
    used: Vec<u64>,
    used_sum: u64,
}

impl Glance {
    pub(super) fn new(total: Amount, free: &Free) -> Self {
        let used: Vec<u64> = match free {
            Free::Sum(_) => vec![],
            Free::Indexed(indexed) => indexed.parts.values().map(|part| part.parts()).collect(),
        };
        Self {
            total: total.parts(),
            free: free.amount().parts(),
            largest: free.largest().parts(),
            used_sum: used.iter().sum(),
            used,
        }
    }

    /// Whether that much can be had.
    pub(crate) const fn holds(&self, quantity: Quantity) -> bool {
        match quantity {
            Quantity::All => self.free == self.total && self.total > 0,
            Quantity::Amount(amount, _) => amount.parts() <= self.largest,
        }
    }

    /// What is free of used indices that are too small for the fraction of `quantity`. A whole one is of use to all.
    pub(crate) fn scraps(&self, quantity: Quantity) -> u64 {
        match quantity {
            Quantity::All => 0,
            Quantity::Amount(amount, _) if amount.fraction() == 0 => self.used_sum,
            Quantity::Amount(amount, _) => self.used.iter().filter(|free| **free < amount.fraction()).sum(),
        }
    }
}

/// Whether more than amounts decides if it fits.
pub(crate) fn is_strict(request: &Request) -> bool {
    let strict = |quantity| matches!(quantity, Quantity::Amount(_, Policy::ForceCompact | Policy::ForceTight));
    request.entries().iter().any(|entry| strict(entry.quantity))
}

//! The least use of a worker's cpus.

use hq_core::{Amount, Request, ResourceName};

use crate::{pool::Pools, value::amount_on};

/// A whole in the parts in which a least use is given.
const WHOLE: u128 = 10_000;

/// How much of its cpus a worker has to have in use, if that is to be a share of at least `share`, in 1/10,000.
pub(crate) fn least_use(pools: &Pools, share: u32) -> Amount {
    let parts = u128::from(pools.total(ResourceName::CPUS).parts()) * u128::from(share);
    Amount::from_parts(u64::try_from(parts.div_ceil(WHOLE)).unwrap_or(u64::MAX))
}

/// What a request takes of a worker's cpus.
pub(crate) fn cpus_of(pools: &Pools, request: &Request) -> Amount {
    let cpus = request.entries().iter().find(|entry| entry.resource.as_str() == ResourceName::CPUS);
    cpus.map_or(Amount::ZERO, |entry| amount_on(pools, ResourceName::CPUS, entry.quantity))
}

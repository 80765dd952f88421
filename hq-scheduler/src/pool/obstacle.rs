use hq_core::{Obstacle, Policy, Quantity, Request, ResourceEntry};

use super::Pools;

/// Per line of `request` what keeps it from being served now. All none where the request fits.
pub(super) fn obstacles(pools: &Pools, request: &Request) -> Vec<Option<Obstacle>> {
    let mut found: Vec<Option<Obstacle>> = request.entries().iter().map(|entry| obstacle(pools, entry)).collect();
    if found.iter().all(Option::is_none) && pools.allocate(request).is_none() {
        // Each strict line alone would be content: it is the coupling between them.
        for (entry, obstacle) in request.entries().iter().zip(&mut found) {
            *obstacle = is_strict(entry).then_some(Obstacle::Scattered);
        }
    }
    found
}

fn obstacle(pools: &Pools, entry: &ResourceEntry) -> Option<Obstacle> {
    let Some(at) = pools.shape.position(entry.resource.as_str()) else { return Some(Obstacle::TooLittle) };
    let (shape, free) = (&pools.shape.resources[at], &pools.free[at]);
    let Quantity::Amount(amount, _) = entry.quantity else {
        return (!free.is_all(shape)).then_some(Obstacle::InUse);
    };
    if amount > shape.total {
        Some(Obstacle::TooLittle)
    } else if amount > free.amount() {
        Some(Obstacle::InUse)
    } else if !free.holds(amount) {
        Some(Obstacle::NoSingleIndex)
    } else {
        let alone = is_strict(entry).then(|| Request::new(vec![entry.clone()]).ok()).flatten();
        alone.is_some_and(|request| pools.allocate(&request).is_none()).then_some(Obstacle::Scattered)
    }
}

fn is_strict(entry: &ResourceEntry) -> bool {
    matches!(entry.quantity, Quantity::Amount(_, Policy::ForceCompact | Policy::ForceTight))
}

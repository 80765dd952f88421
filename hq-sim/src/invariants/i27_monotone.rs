use hq_core::{
    Allocation, Amount, Policy, Quantity, Request, ResourceDef, ResourceEntry, ResourceKind, WorkerResources,
};
use hq_scheduler::pool::Pools;

/// I27: more capacity, or a smaller request, never makes infeasible what was feasible, where so much is taken already.
///
/// Of one decision, and not of `all`, of strict policies, or of a worker that wants to be used to a least share.
///
/// # Errors
/// Which change took the place away.
pub fn monotone(
    worker: &WorkerResources,
    taken: &[Allocation],
    request: &Request,
    fits: &Fits<'_>,
) -> Result<(), String> {
    let strict = |entry: &ResourceEntry| {
        matches!(entry.quantity, Quantity::All | Quantity::Amount(_, Policy::ForceCompact | Policy::ForceTight))
    };
    if request.entries().iter().any(strict) || !fits(worker, taken, request) {
        return Ok(());
    }
    for name in worker.resources().iter().map(|def| def.name.clone()) {
        let Some(larger) = larger(worker, name.as_str()) else { continue };
        if !fits(&larger, taken, request) {
            return Err(format!("I27 monotone: {request:?} fits beside {taken:?}, and not with more {name}"));
        }
    }
    for smaller in smaller(request) {
        if !fits(worker, taken, &smaller) {
            return Err(format!("I27 monotone: {request:?} fits beside {taken:?}, and {smaller:?} does not"));
        }
    }
    Ok(())
}

/// Whether a request has a place on a worker where so much is taken.
pub type Fits<'a> = dyn Fn(&WorkerResources, &[Allocation], &Request) -> bool + 'a;

/// By the core.
pub fn fits(worker: &WorkerResources, taken: &[Allocation], request: &Request) -> bool {
    let mut pools = Pools::new(worker);
    taken.iter().for_each(|allocation| _ = pools.take(allocation));
    pools.allocate(request).is_some()
}

/// With one more group of one index, so that all indices keep their numbers; or with the least more of a sum.
fn larger(worker: &WorkerResources, name: &str) -> Option<WorkerResources> {
    let grow = |def: &ResourceDef| {
        let mut def = def.clone();
        match &mut def.kind {
            ResourceKind::Groups(groups) if def.name.as_str() == name => groups.push(vec!["more".to_owned()]),
            ResourceKind::Sum(sum) if def.name.as_str() == name => *sum = Amount::from_parts(sum.parts() + 1),
            _ => {}
        }
        def
    };
    WorkerResources::new(worker.resources().iter().map(grow).collect(), worker.coupling().to_vec()).ok()
}

/// With a bit, half, or a whole unit less of one resource, or without it.
fn smaller(request: &Request) -> Vec<Request> {
    let mut all = Vec::new();
    for (i, entry) in request.entries().iter().enumerate() {
        let Quantity::Amount(amount, policy) = entry.quantity else { continue };
        for less in [1, 5_000, Amount::PARTS, amount.parts()] {
            let mut entries = request.entries().to_vec();
            match amount.parts().checked_sub(less) {
                None => continue,
                Some(0) => _ = entries.remove(i),
                Some(left) => entries[i].quantity = Quantity::Amount(Amount::from_parts(left), policy),
            }
            all.extend(Request::new(entries));
        }
    }
    all
}

use hq_core::{Amount, Policy, Quantity, Request};

use super::{Pools, free::Free};

/// How many times `request` fits one after the other, at most `max`.
pub(super) fn fits_count(pools: &Pools, request: &Request, max: u32) -> u32 {
    if request.nodes() > 0 {
        return max.min(u32::from(pools.is_idle()));
    }
    let mut count = u64::from(max);
    for entry in request.entries() {
        match entry_count(pools, entry.resource.as_str(), entry.quantity) {
            Some(n) => count = count.min(n),
            None => return try_out(pools, request, max),
        }
    }
    count as u32
}

/// How many times one line fits, where a formula says so. Lines do not disturb each other unless a policy is strict.
fn entry_count(pools: &Pools, name: &str, quantity: Quantity) -> Option<u64> {
    let Some(at) = pools.shape.position(name) else { return Some(0) };
    let (shape, free) = (&pools.shape.resources[at], &pools.free[at]);
    let Quantity::Amount(amount, policy) = quantity else { return Some(u64::from(free.is_all(shape))) };
    let indexed = match free {
        Free::Sum(free) => return free.parts().checked_div(amount.parts()),
        Free::Indexed(indexed) => indexed,
    };
    if shape.choosable && matches!(policy, Policy::ForceCompact | Policy::ForceTight) {
        return None;
    }
    let (units, part) = (amount.whole(), amount.fraction());
    let whole = u64::from(indexed.whole_total);
    if part == 0 {
        return whole.checked_div(units);
    }
    if units > 0 && shape.groups.len() > 1 {
        // A fraction may be cut from a new index although another group has a used one.
        return None;
    }
    // A used index serves as often as the fraction goes into what is free of it; only then is another one cut.
    let used: u64 = indexed.parts.values().map(|free| free.parts() / part).sum();
    let per_index = Amount::PARTS / part;
    if units == 0 {
        return Some(used + whole * per_index);
    }
    let suffices = |n: u64| n * units + n.saturating_sub(used).div_ceil(per_index) <= whole;
    let (mut yes, mut no) = (0, whole / units + 1);
    while no - yes > 1 {
        let middle = yes.midpoint(no);
        if suffices(middle) { yes = middle } else { no = middle }
    }
    Some(yes)
}

fn try_out(pools: &Pools, request: &Request, max: u32) -> u32 {
    let mut rest = pools.clone();
    let mut count = 0;
    while count < max {
        match rest.allocate(request) {
            Some(allocation) if rest.take(&allocation) => count += 1,
            _ => break,
        }
    }
    count
}

use hq_core::{Allocation, Amount, GrantedResource, Piece, Policy, Quantity, Request};

use super::{
    Pools,
    choice::Choice,
    free::{Free, Indexed},
    shape::{GroupShape, ResourceShape},
    spread::{Spread, spread},
};

/// The indices for `request`, or `None` where it does not fit.
pub(super) fn allocate(pools: &Pools, request: &Request) -> Option<Allocation> {
    let choice = decide(pools, request)?;
    if request.nodes() > 0 {
        return Some(Allocation::default());
    }
    let mut granted = Vec::with_capacity(request.entries().len());
    for (line, entry) in request.entries().iter().enumerate() {
        let at = pools.shape.position(entry.resource.as_str())?;
        let shape = &pools.shape.resources[at];
        let amount = match entry.quantity {
            Quantity::All => shape.total,
            Quantity::Amount(amount, _) => amount,
        };
        let pieces = match (&pools.free[at], entry.quantity) {
            (Free::Sum(_), _) => vec![],
            (Free::Indexed(indexed), Quantity::All) => everything(shape, indexed),
            (Free::Indexed(indexed), Quantity::Amount(amount, policy)) => {
                pick(shape, indexed, amount, policy, choice.groups(line))
            }
        };
        granted.push(GrantedResource { resource: shape.name.clone(), amount, pieces });
    }
    Some(Allocation(granted))
}

/// Whether `request` fits: from which groups it comes if it does.
pub(super) fn decide(pools: &Pools, request: &Request) -> Option<Choice> {
    if request.nodes() > 0 {
        return pools.is_idle().then(Choice::default);
    }
    for entry in request.entries() {
        let at = pools.shape.position(entry.resource.as_str())?;
        let holds = match entry.quantity {
            Quantity::All => pools.free[at].is_all(&pools.shape.resources[at]),
            Quantity::Amount(amount, _) => pools.free[at].holds(amount),
        };
        if !holds {
            return None;
        }
    }
    Choice::make(pools, request)
}

fn everything(shape: &ResourceShape, indexed: &Indexed) -> Vec<Piece> {
    let mut pieces = Vec::with_capacity(shape.count() as usize);
    for group in &shape.groups {
        indexed.push_lowest(*group, group.size, &mut pieces);
    }
    pieces
}

/// Takes `amount`, which is there, from the `chosen` groups, or from all of them where none were chosen.
fn pick(
    shape: &ResourceShape,
    indexed: &Indexed,
    amount: Amount,
    policy: Policy,
    chosen: Option<&[usize]>,
) -> Vec<Piece> {
    let part = Amount::from_parts(amount.fraction());
    let all = || (0..shape.groups.len()).collect();
    if let [group] = shape.groups[..] {
        return pick_one_group(group, indexed, amount.whole() as u32, part);
    }
    let groups: Vec<usize> = chosen.map_or_else(all, <[usize]>::to_vec);
    let best = (!part.is_zero())
        .then(|| groups.iter().filter_map(|at| indexed.best_part(shape.groups[*at], part)).min())
        .flatten();
    let split = !part.is_zero() && best.is_none();
    // An index that is to be split is one more whole index, the last to be handed out.
    let units = amount.whole() as u32 + u32::from(split);
    let free: Vec<u32> = groups.iter().map(|at| indexed.whole[*at]).collect();
    let Spread { counts, last } = spread(policy, &free, units);
    let mut pieces = Vec::with_capacity(units as usize + 1);
    let mut partial = best.map(|(_, index)| index);
    for (nth, (at, count)) in groups.iter().zip(counts).enumerate() {
        indexed.push_lowest(shape.groups[*at], count, &mut pieces);
        if split && nth == last {
            partial = pieces.pop().map(|piece| piece.index);
        }
    }
    pieces.extend(partial.map(|index| Piece { index, amount: part }));
    pieces
}

fn pick_one_group(group: GroupShape, indexed: &Indexed, units: u32, part: Amount) -> Vec<Piece> {
    if part.is_zero() {
        let mut pieces = Vec::with_capacity(units as usize);
        indexed.push_lowest(group, units, &mut pieces);
        return pieces;
    }
    let best = indexed.best_part(group, part).map(|(_, index)| index);
    let mut pieces = Vec::with_capacity(units as usize + 1);
    indexed.push_lowest(group, units + u32::from(best.is_none()), &mut pieces);
    let partial = best.or_else(|| pieces.pop().map(|piece| piece.index));
    pieces.extend(partial.map(|index| Piece { index, amount: part }));
    pieces
}

use hq_core::{Amount, Policy, Quantity, Request};

use super::{
    Pools,
    free::{Free, Indexed},
    links::Link,
    need::{Group, Need},
    search::Problem,
    shape::ResourceShape,
};

/// Which groups each line of a request gets.
#[derive(Debug, Default)]
pub(super) struct Choice {
    /// Per line of the request; empty as a whole where no line has a choice.
    lines: Vec<Option<Vec<usize>>>,
}

/// A line of a request for which groups are to be chosen.
struct Line<'a> {
    /// Its place in the request.
    line: usize,
    /// Its resource's place in the shape.
    at: usize,
    shape: &'a ResourceShape,
    indexed: &'a Indexed,
    amount: Amount,
    strict: bool,
}

impl Choice {
    /// Chooses the fewest groups that suffice for each line, among these the ones that are coupled best, then a group
    /// with a partly used index that suffices for the fraction, then the smallest that suffice.
    ///
    /// `None` where a strict policy does not accept the best choice: when all is free fewer groups would do, or better
    /// coupled ones. How full a group is never matters to it, so that it cannot wait for ever.
    ///
    /// Each line must hold its amount.
    pub(super) fn make(pools: &Pools, request: &Request) -> Option<Self> {
        let lines = choosable(pools, request);
        if lines.is_empty() {
            return Some(Self::default());
        }
        let mut chosen = vec![None; request.entries().len()];
        for component in components(pools, lines) {
            let now = problem(pools, &component, |line| line.need_now());
            let best = now.solve();
            // Less than one group is never needed: only more of them, or couplings, can be worse than on an idle worker.
            let could_be_worse = !now.links.is_empty() || best.groups.iter().any(|groups| groups.len() > 1);
            if could_be_worse && component.iter().any(|line| line.strict) {
                let idle = problem(pools, &component, |line| line.need_idle());
                let takes_more = |((line, groups), need): ((&Line<'_>, &Vec<usize>), &Need)| {
                    line.strict && groups.len() > need.fewest()
                };
                let more = component.iter().zip(&best.groups).zip(&idle.needs).any(takes_more);
                if more || !idle.links.is_empty() && best.weight < idle.solve().weight {
                    return None;
                }
            }
            for (line, groups) in component.iter().zip(best.groups) {
                chosen[line.line] = Some(groups);
            }
        }
        Some(Self { lines: chosen })
    }

    /// The groups for a line, ascending, or `None` for all.
    pub(super) fn groups(&self, line: usize) -> Option<&[usize]> {
        self.lines.get(line)?.as_deref()
    }
}

fn choosable<'a>(pools: &'a Pools, request: &Request) -> Vec<Line<'a>> {
    let line = |(line, entry): (usize, &hq_core::ResourceEntry)| {
        let at = pools.shape.position(entry.resource.as_str())?;
        let (amount, strict) = match entry.quantity {
            Quantity::All | Quantity::Amount(_, Policy::Scatter) => return None,
            Quantity::Amount(amount, Policy::Compact | Policy::Tight) => (amount, false),
            Quantity::Amount(amount, Policy::ForceCompact | Policy::ForceTight) => (amount, true),
        };
        let shape = &pools.shape.resources[at];
        let Free::Indexed(indexed) = &pools.free[at] else { return None };
        shape.choosable.then_some(Line { line, at, shape, indexed, amount, strict })
    };
    request.entries().iter().enumerate().filter_map(line).collect()
}

/// Sets of lines that are not coupled with each other.
fn components<'a>(pools: &Pools, lines: Vec<Line<'a>>) -> Vec<Vec<Line<'a>>> {
    let mut components: Vec<Vec<Line<'a>>> = lines.into_iter().map(|line| vec![line]).collect();
    for item in &pools.shape.coupling {
        let with =
            |index: u16| components.iter().position(|lines| lines.iter().any(|line| line.at == usize::from(index)));
        if let (Some(a), Some(b)) = (with(item.resource1_idx), with(item.resource2_idx))
            && a != b
        {
            let merged = components.remove(a.max(b));
            components[a.min(b)].extend(merged);
        }
    }
    components
}

fn problem(pools: &Pools, lines: &[Line<'_>], need: fn(&Line<'_>) -> Need) -> Problem {
    let place = |index: u16| lines.iter().position(|line| line.at == usize::from(index));
    let link = |item: &hq_core::CouplingItem| {
        Some(Link {
            a: (place(item.resource1_idx)?, usize::from(item.group1_idx)),
            b: (place(item.resource2_idx)?, usize::from(item.group2_idx)),
            weight: u64::from(item.weight),
        })
    };
    let links = if lines.len() > 1 { pools.shape.coupling.iter().filter_map(link).collect() } else { vec![] };
    Problem { needs: lines.iter().map(need).collect(), links }
}

impl Line<'_> {
    fn need_now(&self) -> Need {
        let part = Amount::from_parts(self.amount.fraction());
        let group = |(at, group): (usize, &super::shape::GroupShape)| {
            let best = if part.is_zero() { None } else { self.indexed.best_part(*group, part) };
            Group { at, whole: self.indexed.whole[at], part: best.map(|(free, _)| free) }
        };
        let groups = self.shape.groups.iter().enumerate().map(group).collect();
        Need::new(self.amount, groups)
    }

    fn need_idle(&self) -> Need {
        let groups = self.shape.groups.iter().enumerate();
        Need::new(self.amount, groups.map(|(at, group)| Group { at, whole: group.size, part: None }).collect())
    }
}

use hq_core::{Amount, Quantity, Request};

use super::{Pools, free::Free};

/// How much is free, as bare numbers to count with. Which index it is, groups and couplings are left aside: what seems to fit
/// here may not fit the [`Pools`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// Of each resource, in parts: all of a sum; of others the whole indices.
    free: Vec<u64>,
    /// Free rests of indices in use: resource and parts, the smallest first.
    rests: Vec<(usize, u64)>,
}

/// What a request takes of a [`Room`].
#[derive(Clone, Debug)]
pub(crate) struct Need {
    first: Option<Line>,
    /// Few requests have others.
    rest: Vec<Line>,
}

#[derive(Clone, Copy, Debug)]
struct Line {
    at: usize,
    /// Of a sum all, else the whole indices; in parts.
    whole: u64,
    /// Parts of one further index.
    rest: u64,
}

impl Need {
    fn lines(&self) -> impl Iterator<Item = &Line> {
        self.first.iter().chain(&self.rest)
    }

    /// The sum over resources of weight × the part of what is free that this takes, in parts of 2^36; never nothing.
    pub(crate) fn share(&self, factors: &[u128]) -> u128 {
        let share = |line: &Line| u128::from(line.whole + line.rest).saturating_mul(factors[line.at]);
        (self.lines().map(share).fold(0, u128::saturating_add) >> 28).max(1)
    }

    /// What is taken of a resource, in parts.
    pub(crate) fn of(&self, at: usize) -> u64 {
        self.lines().filter(|line| line.at == at).map(|line| line.whole + line.rest).sum()
    }
}

impl Pools {
    pub(crate) fn room(&self) -> Room {
        let mut rests = Vec::new();
        let free = self.free.iter().enumerate().map(|(at, free)| match free {
            Free::Sum(amount) => amount.parts(),
            Free::Indexed(indexed) => {
                rests.extend(indexed.parts.values().map(|part| (at, part.parts())));
                Amount::units(indexed.whole_total).parts()
            }
        });
        let free = free.collect();
        rests.sort_unstable();
        Room { free, rests }
    }

    /// What one of the request takes here; nothing where the worker lacks a resource.
    pub(crate) fn need(&self, request: &Request) -> Option<Need> {
        let line = |entry: &hq_core::ResourceEntry| {
            let at = self.shape.position(entry.resource.as_str())?;
            let amount = match entry.quantity {
                Quantity::Amount(amount, _) => amount,
                Quantity::All => self.shape.resources[at].total,
            };
            let rest = if matches!(self.free[at], Free::Sum(_)) { 0 } else { amount.fraction() };
            Some(Line { at, whole: amount.parts() - rest, rest })
        };
        let mut lines = request.entries().iter().map(line);
        let first = match lines.next() {
            Some(line) => Some(line?),
            None => None,
        };
        Some(Need { first, rest: lines.collect::<Option<Vec<Line>>>()? })
    }
}

impl Room {
    pub(crate) fn fits(&self, need: &Need) -> bool {
        need.lines().all(|line| {
            let free = self.free[line.at];
            free >= line.whole
                && (line.rest == 0 || free - line.whole >= Amount::PARTS || self.rest_for(line).is_some())
        })
    }

    /// The smallest rest that is enough for the line's.
    fn rest_for(&self, line: &Line) -> Option<usize> {
        let at = self.rests.partition_point(|rest| *rest < (line.at, line.rest));
        self.rests.get(at).filter(|(resource, _)| *resource == line.at).map(|_| at)
    }

    /// Takes what fits; changes nothing and says so where it does not.
    pub(crate) fn take(&mut self, need: &Need) -> bool {
        if !self.fits(need) {
            return false;
        }
        for line in need.lines() {
            self.free[line.at] -= line.whole;
            if line.rest == 0 {
                continue;
            }
            let free = match self.rest_for(line) {
                Some(at) => self.rests.remove(at).1,
                None => {
                    self.free[line.at] -= Amount::PARTS;
                    Amount::PARTS
                }
            };
            if free > line.rest {
                let rest = (line.at, free - line.rest);
                self.rests.insert(self.rests.partition_point(|known| *known < rest), rest);
            }
        }
        true
    }

    /// How often the need fits, as far as amounts say; `max` at most.
    pub(crate) fn count(&self, need: &Need, max: u64) -> u64 {
        let counts = need.lines().map(|line| self.amount(line.at).checked_div(line.whole + line.rest).unwrap_or(max));
        counts.min().unwrap_or(max).min(max)
    }

    /// For each resource its weight by what is free of it: what [`Need::share`] counts with.
    pub(crate) fn factors(&self, weights: &[u64]) -> Vec<u128> {
        let factor = |(at, weight): (usize, &u64)| (u128::from(*weight) << 64) / u128::from(self.amount(at).max(1));
        weights.iter().enumerate().map(factor).collect()
    }

    /// What is free of each resource, in parts.
    pub(crate) fn amounts(&self) -> Vec<u64> {
        (0..self.free.len()).map(|at| self.amount(at)).collect()
    }

    fn amount(&self, at: usize) -> u64 {
        let from = self.rests.partition_point(|rest| *rest < (at, 0));
        let rests = self.rests[from..].iter().take_while(|(resource, _)| *resource == at);
        self.free[at] + rests.map(|(_, rest)| rest).sum::<u64>()
    }
}

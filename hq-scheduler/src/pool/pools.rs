use std::sync::Arc;

use hq_core::{Allocation, Amount, GrantedResource, Obstacle, Piece, Quantity, Request, ResourceName, WorkerResources};

use super::{
    allocate,
    free::{Free, Indexed, bit},
    glance::Glance,
    shape::{ResourceShape, Shape},
    signature::Signature,
};

/// What of a worker's resources is free.
///
/// Equal where the same indices of equal workers are free to the same extent. The order has no meaning of its own;
/// for interchangeable workers compare [`signature`](Self::signature)s.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pools {
    pub(super) shape: Arc<Shape>,
    /// In order of the shape's resources.
    pub(super) free: Vec<Free>,
}

impl Pools {
    /// All free.
    pub fn new(resources: &WorkerResources) -> Self {
        let shape = Shape::new(resources);
        let free = shape.resources.iter().map(Free::new).collect();
        Self { shape: Arc::new(shape), free }
    }

    /// The indices that `request` would get now, or `None` if it does not fit. Fits and allocate are this one function.
    ///
    /// Changes nothing; [`take`](Self::take) always accepts the answer. Low indices are given first, `pieces` ascend
    /// and a partial one is last. A request for a gang gets the empty allocation where all is free: who holds a whole
    /// worker has to remember it.
    pub fn allocate(&self, request: &Request) -> Option<Allocation> {
        allocate::allocate(self, request)
    }

    /// Whether [`allocate`](Self::allocate) would give something: the same function, which only does not build the answer.
    pub fn fits(&self, request: &Request) -> bool {
        allocate::decide(self, request).is_some()
    }

    /// Takes what [`allocate`](Self::allocate) chose, or what a journal says was granted.
    ///
    /// Returns `false`, and changes nothing, where it is not free, or where it is not a sound allocation on a worker
    /// of this shape: unknown or doubled resources or indices, empty pieces, amounts that do not add up.
    pub fn take(&mut self, allocation: &Allocation) -> bool {
        self.change(allocation, Op::Take)
    }

    /// Gives back what was taken.
    ///
    /// Returns `false`, and changes nothing, where it cannot have been taken: then it is all or in part free already,
    /// or unsound.
    pub fn release(&mut self, allocation: &Allocation) -> bool {
        self.change(allocation, Op::Release)
    }

    /// How much of what is free of a resource is of no use to `request`: all of it where the request does not fit, else what is
    /// free of used indices that are too small for its fraction. Nothing where it does not ask for the resource.
    pub fn useless(&self, request: &Request, name: &str) -> Amount {
        let Some(entry) = request.entries().iter().find(|entry| entry.resource.as_str() == name) else {
            return Amount::ZERO;
        };
        let glance = self.glance(name);
        Amount::from_parts(if self.fits(request) { glance.scraps(entry.quantity) } else { glance.free })
    }

    /// A resource in a few figures; nothing where the worker lacks it.
    pub(crate) fn glance(&self, name: &str) -> Glance {
        self.find(name).map(|(shape, free)| Glance::new(shape.total, free)).unwrap_or_default()
    }

    /// How many times `request` fits one after the other, starting now; counts no further than `max`.
    pub fn fits_count(&self, request: &Request, max: u32) -> u32 {
        super::count::fits_count(self, request, max)
    }

    /// Per line of `request` what keeps it from being served now; all none exactly where the request fits.
    pub fn obstacles(&self, request: &Request) -> Vec<Option<Obstacle>> {
        super::obstacle::obstacles(self, request)
    }

    /// Whether `request` fits when all is free. It never will on a worker of this shape where it does not.
    pub fn could_ever(&self, request: &Request) -> bool {
        request.entries().iter().all(|entry| {
            let shape = self.shape.position(entry.resource.as_str()).map(|at| &self.shape.resources[at]);
            match (shape, entry.quantity) {
                (None, _) => false,
                (Some(_), Quantity::All) => true,
                (Some(shape), Quantity::Amount(amount, _)) => amount <= shape.total,
            }
        })
    }

    /// Whether nothing is in use.
    pub fn is_idle(&self) -> bool {
        self.free.iter().zip(&self.shape.resources).all(|(free, shape)| free.is_all(shape))
    }

    /// All that is free of a resource, fractions included; nothing where the worker lacks it.
    pub fn free(&self, name: &str) -> Amount {
        self.find(name).map(|(_, free)| free.amount()).unwrap_or_default()
    }

    /// The most that a single request could get of a resource: all whole indices and the largest fraction.
    pub fn largest(&self, name: &str) -> Amount {
        self.find(name).map(|(_, free)| free.largest()).unwrap_or_default()
    }

    /// What the worker has of a resource, free or not.
    pub fn total(&self, name: &str) -> Amount {
        self.find(name).map(|(shape, _)| shape.total).unwrap_or_default()
    }

    /// All that the worker has, by name.
    pub fn totals(&self) -> impl Iterator<Item = (&str, Amount)> {
        self.shape.resources.iter().map(|shape| (shape.name.as_str(), shape.total))
    }

    /// How much of the worker's cpus is in use.
    pub fn uses_cpus(&self) -> Amount {
        let (total, free) = (self.total(ResourceName::CPUS), self.free(ResourceName::CPUS));
        total.checked_sub(free).unwrap_or_default()
    }

    /// Whether an index is wholly or partly free, and how much of it; nothing where it does not exist.
    pub fn free_of_index(&self, name: &str, index: u32) -> Amount {
        let free = || {
            let (shape, Free::Indexed(indexed)) = self.find(name)? else { return None };
            Some(indexed.of(shape.groups[shape.group_of(index)?], index))
        };
        free().unwrap_or_default()
    }

    /// What matters of the free state for what fits: equal signatures answer every request alike.
    pub fn signature(&self) -> Signature {
        Signature::new(self)
    }

    fn find(&self, name: &str) -> Option<(&ResourceShape, &Free)> {
        let at = self.shape.position(name)?;
        Some((&self.shape.resources[at], &self.free[at]))
    }

    /// Applies `op` to what is free of each thing that is granted, once it is known to be possible for all of them.
    fn change(&mut self, allocation: &Allocation, op: Op) -> bool {
        for (nth, granted) in allocation.0.iter().enumerate() {
            let Some(at) = self.shape.position(granted.resource.as_str()) else { return false };
            let is_doubled = allocation.0[..nth].iter().any(|other| other.resource == granted.resource);
            if is_doubled || !can_change(&self.shape.resources[at], &self.free[at], granted, op) {
                return false;
            }
        }
        for granted in &allocation.0 {
            let Some(at) = self.shape.position(granted.resource.as_str()) else { continue };
            change(&self.shape.resources[at], &mut self.free[at], granted, op);
        }
        true
    }
}

/// What happens to what is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Take,
    Release,
}

impl Op {
    /// What is free then; `None` where that is not possible.
    fn on(self, free: Amount, amount: Amount) -> Option<Amount> {
        match self {
            Self::Take => free.checked_sub(amount),
            Self::Release => free.checked_add(amount),
        }
    }

    /// Whether pieces are all whole indices in order, none of which is partly free: the usual, which is done in words of 64.
    fn is_plain(self, indexed: &Indexed, pieces: &[Piece]) -> bool {
        (self == Self::Take || indexed.parts.is_empty())
            && pieces.iter().all(|piece| piece.amount == Amount::ONE)
            && ascend(pieces)
    }
}

fn can_change(shape: &ResourceShape, free: &Free, granted: &GrantedResource, op: Op) -> bool {
    match free {
        Free::Sum(free) => {
            let within = op.on(*free, granted.amount).is_some_and(|rest| rest <= shape.total);
            granted.pieces.is_empty() && !granted.amount.is_zero() && within
        }
        Free::Indexed(indexed) if op.is_plain(indexed, &granted.pieces) => {
            let all = |word, bits| indexed.word(word) & bits == if op == Op::Take { bits } else { 0 };
            u64::try_from(granted.pieces.len()).is_ok_and(|n| n > 0 && granted.amount.parts() == n * Amount::PARTS)
                && each_word(shape, &granted.pieces, |_, word, bits| all(word, bits))
        }
        Free::Indexed(indexed) => {
            let sum = granted.pieces.iter().try_fold(Amount::ZERO, |sum, piece| sum.checked_add(piece.amount));
            let sound = |piece: &Piece| !piece.amount.is_zero() && after(shape, indexed, piece, op).is_some();
            !granted.pieces.is_empty()
                && sum == Some(granted.amount)
                && granted.pieces.iter().all(sound)
                && distinct(&granted.pieces)
        }
    }
}

/// The group of a piece and how much would be free of its index after `op`; `None` where that is not possible.
fn after(shape: &ResourceShape, indexed: &Indexed, piece: &Piece, op: Op) -> Option<(usize, Amount)> {
    let at = shape.group_of(piece.index)?;
    let rest = op.on(indexed.of(shape.groups[at], piece.index), piece.amount)?;
    (rest <= Amount::ONE).then_some((at, rest))
}

fn distinct(pieces: &[Piece]) -> bool {
    // The usual form needs no sorting.
    ascend(pieces) || {
        let mut sorted = pieces.to_vec();
        sorted.sort();
        ascend(&sorted)
    }
}

fn ascend(pieces: &[Piece]) -> bool {
    pieces.windows(2).all(|pair| pair[0].index < pair[1].index)
}

/// Tells the group, the word and the bits of indices that ascend, word by word, as long as they are there and `tell` agrees; says
/// whether that was to the end.
fn each_word(shape: &ResourceShape, pieces: &[Piece], mut tell: impl FnMut(usize, usize, u64) -> bool) -> bool {
    let mut at = 0;
    let mut last: Option<(usize, usize, u64)> = None;
    for piece in pieces {
        while shape.groups.get(at).is_some_and(|group| group.start + group.size <= piece.index) {
            at += 1;
        }
        let Some(group) = shape.groups.get(at) else { return false };
        let (word, bit) = bit(*group, piece.index);
        match &mut last {
            Some((_, same, bits)) if *same == word => *bits |= bit,
            _ => {
                if let Some((at, word, bits)) = last.replace((at, word, bit))
                    && !tell(at, word, bits)
                {
                    return false;
                }
            }
        }
    }
    last.is_none_or(|(at, word, bits)| tell(at, word, bits))
}

fn change(shape: &ResourceShape, free: &mut Free, granted: &GrantedResource, op: Op) {
    match free {
        Free::Sum(free) => *free = op.on(*free, granted.amount).unwrap_or(*free),
        Free::Indexed(indexed) if op.is_plain(indexed, &granted.pieces) => {
            each_word(shape, &granted.pieces, |at, word, bits| {
                indexed.flip(at, word, bits);
                true
            });
        }
        Free::Indexed(indexed) => {
            for piece in &granted.pieces {
                if let Some((at, rest)) = after(shape, indexed, piece, op) {
                    indexed.set(shape.groups[at], at, piece.index, rest);
                }
            }
        }
    }
}

use std::sync::Arc;

use super::{Pools, free::Free, shape::Shape};

/// What two workers must have in common to be interchangeable: the same shape, and per group as many whole indices
/// and the same fractions free. Which indices these are makes no difference to what fits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signature {
    /// Per sum what is free; per group how many whole indices, how many partly free ones, and these in order of size.
    free: Vec<u64>,
    shape: Arc<Shape>,
}

impl Signature {
    pub(super) fn new(pools: &Pools) -> Self {
        let mut free = Vec::new();
        for (shape, of) in pools.shape.resources.iter().zip(&pools.free) {
            match of {
                Free::Sum(amount) => free.push(amount.parts()),
                Free::Indexed(indexed) => {
                    for (group, whole) in shape.groups.iter().zip(&indexed.whole) {
                        let parts = indexed.parts.range(group.start..group.start + group.size);
                        free.extend([u64::from(*whole), 0]);
                        let at = free.len();
                        free.extend(parts.map(|(_, part)| part.parts()));
                        free[at..].sort_unstable();
                        free[at - 1] = (free.len() - at) as u64;
                    }
                }
            }
        }
        Self { free, shape: Arc::clone(&pools.shape) }
    }

    /// All of it but the shape: for workers of one shape.
    pub(crate) fn into_free(self) -> Vec<u64> {
        self.free
    }
}

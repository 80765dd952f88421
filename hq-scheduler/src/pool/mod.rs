//! What a worker has free, down to the single index, and the one function that fits and allocates.

mod pools;

pub use pools::Pools;

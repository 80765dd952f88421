use hq_core::{Allocation, Request, WorkerResources};

/// What of a worker's resources is free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pools {}

impl Pools {
    /// All free.
    pub fn new(_resources: &WorkerResources) -> Self {
        Self {}
    }

    /// The indices that `request` would get now, or `None` if it does not fit. Fits and allocate are this one function.
    pub fn allocate(&self, _request: &Request) -> Option<Allocation> {
        None
    }

    /// Takes what [`allocate`](Self::allocate) chose, or what a journal says was granted.
    ///
    /// Returns `false`, and changes nothing, where it is not free.
    pub fn take(&mut self, _allocation: &Allocation) -> bool {
        false
    }

    /// Gives back what was taken.
    pub fn release(&mut self, _allocation: &Allocation) {}
}

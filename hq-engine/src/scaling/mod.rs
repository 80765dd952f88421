//! Carries the autoscaler: its facts to the journal, its wishes to an allocator, the allocator's answers back.

mod carrier;
mod queue;

pub(crate) use carrier::{Answer, Carrier};
pub use queue::AllocationQueue;

//! Carries what the server machine wants of allocators to them, and their answers back.

mod backends;
mod queue;
mod request;

pub(crate) use backends::Backends;
pub use queue::AllocationQueue;
pub use request::BatchWorkers;

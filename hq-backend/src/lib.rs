//! The seam to allocators: ask for machines, follow them, give them back.
//!
//! An [`AllocatorBackend`] is asked by the engine, which decides how many allocations it wants and writes down each
//! intent before it asks. A backend decides nothing. Workers of an allocation come to the engine by themselves.

#![forbid(unsafe_code)]

mod backend;
mod error;
mod types;

pub use backend::AllocatorBackend;
pub use error::{BackendError, BackendErrorKind};
pub use types::{AllocationId, AllocationRequest, AllocationStatus, Capability};

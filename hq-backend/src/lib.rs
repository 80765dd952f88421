//! The seam to allocators: ask for machines, follow them, give them back.
//!
//! An [`AllocatorBackend`] is asked by the engine, which decides how many allocations it wants and writes down each
//! intent before it asks. A backend decides nothing. Workers of an allocation come to the engine by themselves.
//!
//! Backends that talk to a manager by its commands find here what they share: [`CommandRunner`] and the real one,
//! [scripts](script) that nothing can be smuggled into, and readers of what managers [print](parse). What any backend
//! can be wrapped in: [`Retry`], [`RateLimit`], [`Trace`].

#![forbid(unsafe_code)]

mod backend;
mod command;
mod decorate;
mod error;
pub mod parse;
mod request;
pub mod script;
mod trial;
mod types;

pub use backend::AllocatorBackend;
pub use command::{CommandError, CommandFailure, CommandLine, CommandOutput, CommandRunner, ProcessRunner};
pub use decorate::{RateLimit, Retry, RetryPolicy, Trace};
pub use error::{BackendError, BackendErrorKind};
pub use request::{AllocationRequest, BatchRequest, ExtraArg, JobName, ScriptTextError, ShellLine, Word};
pub use script::{AllocationDir, DirectoryError};
pub use trial::{TrialError, trial};
pub use types::{Allocation, AllocationEnd, AllocationId, AllocationStatus, Capability, EndCause, UnixTime};

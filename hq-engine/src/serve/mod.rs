//! Taking in clients and workers from outside: listeners, run directory, access record.
//!
//! An engine listens to nobody until [`EngineHandle::serve`](crate::EngineHandle::serve).

mod error;
mod listen;
mod options;
mod serving;
mod start;

pub use error::ServeError;
pub use options::ServeOptions;

pub(crate) use serving::Serving;

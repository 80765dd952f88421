//! Taking in clients and workers from outside: listeners, run directory, access record.
//!
//! An engine listens to nobody until [`EngineHandle::serve`](crate::EngineHandle::serve).

mod error;
mod listen;
mod options;
mod serving;
mod start;

pub use crate::builder::new_server_uid;
pub use error::ServeError;
pub use options::{ServeOptions, hostname};
pub use start::check_free;

pub(crate) use serving::Serving;

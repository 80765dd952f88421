//! Taking in clients and workers from outside: listeners, run directory, access record.
//!
//! An engine listens to nobody until [`EngineHandle::serve`](crate::EngineHandle::serve).
//!
//! ```no_run
//! use hq_engine::{Engine, Task, serve::ServeOptions};
//!
//! # async fn f() -> Result<(), Box<dyn std::error::Error>> {
//! let engine = Engine::builder().journal("engine.journal").start().await?;
//! // From here on `hq --server-dir state worker start` brings workers, and the commands of `hq` are answered.
//! let info = engine.serve(ServeOptions::new("state").worker_port(7002)).await?;
//! println!("workers come to {}:{}", info.worker_host, info.worker_port);
//!
//! let result = engine.submit(Task::program("hostname")).await?.await?;
//! assert!(result.is_success(), "{:?}", result.failures);
//! engine.shutdown().await?;
//! # Ok(())
//! # }
//! ```

mod error;
mod listen;
mod options;
mod serving;
mod start;

pub use crate::builder::new_server_uid;
pub use error::ServeError;
pub use options::{ServeOptions, hostname};
pub use start::check_free;

// What an embedder meets in signatures.
pub use hq_transport::access::AccessRecord;

pub(crate) use serving::Serving;

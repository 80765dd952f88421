//! The allocator of this machine: an allocation is a few workers that are started here.
//!
//! How a worker starts is behind [`Spawn`]: a process of its own ([`ProcessSpawn`]), or a worker inside an engine's
//! process. There is no queue: an allocation runs at once, and has ended when its last worker has.

#![forbid(unsafe_code)]

mod backend;
mod process;
mod spawn;

pub use backend::LocalBackend;
pub use process::ProcessSpawn;
pub use spawn::{Spawn, SpawnError, WorkerStart, WorkerStop};

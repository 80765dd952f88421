//! The driver: one task that owns the server machine and carries everything to and from it.
//!
//! All that happens comes in through one bounded queue, or as a signal. The driver takes all that is there, hands it to
//! the machine, and drains the machine's outputs once: ten thousand reports cost one round of placement. It never
//! waits for a peer: each link has a task and a bounded queue of its own.

mod clock;
mod input;
mod link;
mod local;
mod machine;
mod peers;
mod run;
mod signals;
mod workers;

pub(crate) use input::{Answer, Answered, Feed, Input};
pub(crate) use run::{Driver, Start};
pub(crate) use signals::Signals;
pub(crate) use workers::WorkerTask;

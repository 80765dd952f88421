//! The commands: one file each, with its options and what it does.

mod job;
mod journal;
mod output_log;
mod server;
mod simulate;
mod submit;
mod task;
mod tree;
mod watch;
mod worker;

pub(crate) use tree::Command;

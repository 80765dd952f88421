//! The commands: one file each, with its options and what it does.

mod about;
mod alloc;
mod dashboard;
mod job;
mod journal;
mod outcome;
mod output_log;
mod run;
mod server;
mod simulate;
mod submit;
mod task;
mod tree;
mod waiting;
mod watch;
mod worker;

pub(crate) use journal::Filter;
pub(crate) use outcome::NotAllFinished;
pub(crate) use run::joblog_line;
pub(crate) use tree::Command;
pub(crate) use worker::host_file;

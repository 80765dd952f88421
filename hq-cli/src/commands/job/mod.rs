//! Commands about jobs.

mod cancel;
mod cat;
mod close;
mod follow;
mod forget;
mod group;
mod info;
mod list;
mod open;
mod progress;
mod rerun;
mod silence;
mod status;
mod submit_file;
mod summary;
mod task_ids;
mod wait;
mod why;

pub(crate) use group::Command;
pub(crate) use why::first_waiting;

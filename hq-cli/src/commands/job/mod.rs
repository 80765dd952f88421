//! Commands about jobs.

mod cancel;
mod cat;
mod close;
mod forget;
mod group;
mod info;
mod list;
mod open;
mod submit_file;
mod summary;
mod task_ids;
mod wait;

pub(crate) use group::Command;

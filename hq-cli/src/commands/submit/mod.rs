//! `submit`: from options to tasks.

mod args;
mod build;
mod checks;
mod directives;
mod entries;
mod listen;
mod offers;
mod on_notify;
mod options;
mod relations;
mod run;
mod sweeps;
mod tasks;

pub(crate) use args::Args;
pub(crate) use build::describe;
pub(crate) use offers::warn_of_unoffered;
pub(crate) use options::Options;
pub(crate) use relations::Relations;
pub(crate) use run::{hand_over, run, say_submitted};
pub(crate) use sweeps::collect_parts;

#[cfg(test)]
mod tests;

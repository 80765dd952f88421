//! `submit`: from options to tasks.

mod args;
mod build;
mod checks;
mod directives;
mod entries;
mod listen;
mod on_notify;
mod options;
mod run;
mod tasks;

pub(crate) use args::Args;
pub(crate) use run::{hand_over, run};

use options::Options;

#[cfg(test)]
mod tests;

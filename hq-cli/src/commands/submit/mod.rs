//! `submit`: from options to tasks.

mod args;
mod build;
mod checks;
mod directives;
mod entries;
mod limits;
mod on_notify;
mod options;
mod run;
mod tasks;

pub(crate) use args::Args;
pub(crate) use run::run;

use options::Options;

#[cfg(test)]
mod tests;

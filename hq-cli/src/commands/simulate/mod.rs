//! `simulate`: how tasks would run, without running them.

mod args;
mod cluster;
mod input;
mod progress;
mod run;

pub(crate) use args::Args;
pub(crate) use run::run;

//! `submit`: from options to tasks.

mod args;
mod build;
mod checks;
mod run;

pub(crate) use args::Args;
pub(crate) use run::run;

#[cfg(test)]
mod tests;

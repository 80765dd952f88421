//! Tasks that are programs.

mod environment;
mod failure;
mod frame;
mod lookup;
mod memory;
mod open;
mod outputs;
mod plan;
mod recent;
mod run;
mod runner;
mod task_dir;
mod why;

pub use environment::{NOT_INHERITED, inherited_environment};
pub(crate) use run::above_stdio;
pub use runner::{ProgramOptions, ProgramRunner};

//! Commands of a manager: what is run, how it ends, and who runs it.

mod failure;
mod line;
mod process;
mod runner;

pub use failure::{CommandError, CommandFailure};
pub use line::{CommandLine, CommandOutput};
pub use process::ProcessRunner;
pub use runner::CommandRunner;

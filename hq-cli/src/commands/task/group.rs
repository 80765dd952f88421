use clap::Subcommand;

use super::{explain, info, list, notify};
use crate::context::Context;

/// Commands about tasks.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List tasks of jobs
    List(list::Args),
    /// Show tasks with all details
    Info(info::Args),
    /// Show what a task waits for, and which workers could run it
    Explain(explain::Args),
    /// Inside of a task: say something to those who watch its job
    Notify(notify::Args),
}

impl Command {
    /// Does it.
    pub(crate) async fn run(self, context: &mut Context) -> anyhow::Result<()> {
        match self {
            Self::List(args) => list::run(args, context).await,
            Self::Info(args) => info::run(args, context).await,
            Self::Explain(args) => explain::run(args, context).await,
            Self::Notify(args) => notify::run(args, context).await,
        }
    }
}

use clap::Subcommand;

use super::{info, list, stop, wait};
use crate::context::Context;

/// Commands about workers.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Stop workers
    Stop(stop::Args),
    /// List workers
    List(list::Args),
    /// Show workers with all details
    Info(info::Args),
    /// Wait until that many workers run
    Wait(wait::Args),
}

impl Command {
    /// Does it.
    pub(crate) async fn run(self, context: &mut Context) -> anyhow::Result<()> {
        match self {
            Self::Stop(args) => stop::run(args, context).await,
            Self::List(args) => list::run(args, context).await,
            Self::Info(args) => info::run(args, context).await,
            Self::Wait(args) => wait::run(args, context).await,
        }
    }
}

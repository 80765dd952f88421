use clap::Subcommand;

use super::{info, start, stop, wait};
use crate::context::Context;

/// Commands about the server.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a server here and serve until it is stopped
    Start(start::Args),
    /// Stop the server and its workers
    Stop(stop::Args),
    /// Show the running server
    Info(info::Args),
    /// Wait until a server runs
    Wait(wait::Args),
}

impl Command {
    /// Does it.
    pub(crate) async fn run(self, context: &mut Context) -> anyhow::Result<()> {
        match self {
            Self::Start(args) => start::run(args, context).await,
            Self::Stop(args) => stop::run(args, context).await,
            Self::Info(args) => info::run(args, context).await,
            Self::Wait(args) => wait::run(args, context).await,
        }
    }
}

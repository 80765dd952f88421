use clap::Subcommand;

use super::{debug_dump, generate_access, info, start, stop, wait};
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
    /// Make an access record for a server to come
    GenerateAccess(generate_access::Args),
    /// Write down what the server has in its books
    DebugDump(debug_dump::Args),
}

impl Command {
    /// Does it.
    pub(crate) async fn run(self, context: &mut Context) -> anyhow::Result<()> {
        match self {
            Self::Start(args) => start::run(args, context).await,
            Self::Stop(args) => stop::run(args, context).await,
            Self::Info(args) => info::run(args, context).await,
            Self::Wait(args) => wait::run(args, context).await,
            Self::GenerateAccess(args) => generate_access::run(args, context),
            Self::DebugDump(args) => debug_dump::run(args, context).await,
        }
    }
}

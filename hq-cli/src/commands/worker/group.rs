use clap::Subcommand;

use super::{address, deploy_ssh, hwdetect, info, list, start, stop, wait};
use crate::context::Context;

/// Commands about workers.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a worker here and run tasks until it is stopped
    Start(start::Args),
    /// Stop workers
    Stop(stop::Args),
    /// List workers
    List(list::Args),
    /// Show workers with all details
    Info(info::Args),
    /// Wait until that many workers run
    Wait(wait::Args),
    /// Print the name of a worker's machine
    Address(address::Args),
    /// Show what a worker started here would offer
    Hwdetect(hwdetect::Args),
    /// Start workers on other machines by ssh, and wait for their ends
    DeploySsh(deploy_ssh::Args),
}

impl Command {
    /// Does it.
    pub(crate) async fn run(self, context: &mut Context) -> anyhow::Result<()> {
        match self {
            Self::Start(args) => start::run(args, context).await,
            Self::Stop(args) => stop::run(args, context).await,
            Self::List(args) => list::run(args, context).await,
            Self::Info(args) => info::run(args, context).await,
            Self::Wait(args) => wait::run(args, context).await,
            Self::Address(args) => address::run(args, context).await,
            Self::Hwdetect(args) => hwdetect::run(&args, context),
            Self::DeploySsh(args) => deploy_ssh::run(args, context).await,
        }
    }
}

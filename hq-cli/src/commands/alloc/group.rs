use clap::Subcommand;

use super::{add, info, list, log, switch};
use crate::context::Context;

/// Commands about queues of allocations.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the queues
    List(list::Args),
    /// Show the allocations of a queue
    Info(info::Args),
    /// Print an output of an allocation
    Log(log::Args),
    /// Make a queue that asks a batch system for workers as tasks need them
    #[command(subcommand, arg_required_else_help = true)]
    Add(add::Manager),
    /// Ask for no more allocations of a queue; those that are there go on
    Pause(switch::Args),
    /// Ask for allocations of a queue again
    Resume(switch::Args),
    /// See whether a batch system would take an allocation of such a queue
    #[command(subcommand, arg_required_else_help = true)]
    DryRun(add::Manager),
    /// Forget a queue and end its allocations
    Remove(switch::RemoveArgs),
}

impl Command {
    /// Does it.
    pub(crate) async fn run(self, context: &mut Context) -> anyhow::Result<()> {
        match self {
            Self::List(args) => list::run(args, context).await,
            Self::Info(args) => info::run(args, context).await,
            Self::Log(args) => log::run(args, context).await,
            Self::Add(manager) => add::run(manager, context).await,
            Self::Pause(args) => switch::pause(args, context).await,
            Self::Resume(args) => switch::resume(args, context).await,
            Self::DryRun(manager) => add::dry_run(manager, context).await,
            Self::Remove(args) => switch::remove(args, context).await,
        }
    }
}

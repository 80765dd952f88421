use clap::Subcommand;

use super::{export, flush, prune, repair, replay, report, stream};
use crate::context::Context;

/// Commands about the journal.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the events of a journal file, one JSON document a line
    Export(export::Args),
    /// Print what has happened and what happens until the server ends, one JSON document a line
    Stream(stream::Args),
    /// Print what has happened, one JSON document a line
    Replay(replay::Args),
    /// Leave out of the journal what is over
    Prune(prune::Args),
    /// Return when all that has happened is on the disk
    Flush(flush::Args),
    /// Save what can be saved of a damaged journal
    Repair(repair::Args),
    /// Write a page about what is in a journal file
    Report(report::Args),
}

impl Command {
    /// Does it.
    pub(crate) async fn run(self, context: &mut Context) -> anyhow::Result<()> {
        match self {
            Self::Export(args) => export::run(&args, context),
            Self::Stream(args) => stream::run(args, context).await,
            Self::Replay(args) => replay::run(args, context).await,
            Self::Prune(args) => prune::run(args, context).await,
            Self::Repair(args) => repair::run(&args, context),
            Self::Flush(args) => flush::run(args, context).await,
            Self::Report(args) => report::run(&args, context),
        }
    }
}

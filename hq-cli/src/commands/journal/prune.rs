use std::path::PathBuf;

use hq_core::{ClientReply, ClientRequest};
use hq_engine::{Condensed, prune_journal};
use tracing::info;

use crate::{context::Context, server::unexpected};

/// Options of `journal prune`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hq journal prune
  hq journal prune ~/hq.journal

Completed jobs and lost workers are left out. A running server goes on meanwhile, and shows them until it ends.")]
pub(crate) struct Args {
    /// A journal that no server uses [default: that of the running server]
    path: Option<PathBuf>,
}

/// Makes a journal smaller.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    if let Some(path) = args.path {
        let Condensed { before, after } = prune_journal(&path)?;
        info!("{before} bytes before, {after} bytes after");
        return Ok(());
    }
    let server = context.server().await?;
    match server.call(ClientRequest::PruneJournal).await? {
        ClientReply::Done => Ok(()),
        other => Err(unexpected(other).into()),
    }
}

use hq_core::{ClientReply, ClientRequest};

use crate::{context::Context, server::unexpected};

/// Options of `journal flush`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq journal flush && cp ~/hq.journal /backup/")]
pub(crate) struct Args {}

/// Returns when all that has happened is on the disk.
pub(crate) async fn run(_: Args, context: &mut Context) -> anyhow::Result<()> {
    let server = context.server().await?;
    match server.call(ClientRequest::FlushJournal).await? {
        ClientReply::Done => Ok(()),
        other => Err(unexpected(other).into()),
    }
}

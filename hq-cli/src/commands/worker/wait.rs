use hq_core::{ClientReply, ClientRequest};

use crate::{context::Context, server::unexpected};

/// Options of `worker wait`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq worker wait 4")]
pub(crate) struct Args {
    /// How many
    count: u32,
}

/// Waits until that many workers run.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let server = context.server().await?;
    match server.call(ClientRequest::WaitWorkers(args.count)).await? {
        ClientReply::Done => Ok(()),
        other => Err(unexpected(other).into()),
    }
}

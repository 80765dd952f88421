use hq_core::{ClientReply, ClientRequest};
use tracing::info;

use crate::{context::Context, server::unexpected};

/// Options of `server stop`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq server stop\n  hq server stop --server-dir=/shared/me/hq")]
pub(crate) struct Args {}

/// Stops the server and its workers.
pub(crate) async fn run(_: Args, context: &mut Context) -> anyhow::Result<()> {
    let server = context.server().await?;
    match server.call(ClientRequest::StopServer).await? {
        ClientReply::Done => info!("Server is stopping"),
        other => return Err(unexpected(other).into()),
    }
    Ok(())
}

use hq_core::{ClientReply, ClientRequest};

use crate::{
    context::Context,
    output::Mode,
    server::unexpected,
    view::{server_json, server_table},
};

/// Options of `server info`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq server info\n  hq server info --server-dir=/shared/me/hq")]
pub(crate) struct Args {}

/// Shows the running server.
pub(crate) async fn run(_: Args, context: &mut Context) -> anyhow::Result<()> {
    let server = context.server().await?;
    let info = match server.call(ClientRequest::ServerInfo).await? {
        ClientReply::Server(info) => info,
        other => return Err(unexpected(other).into()),
    };
    match context.out.mode() {
        Mode::Cli => context.out.table(&server_table(&info, None)),
        Mode::Json => context.out.json(&server_json(&info, None)),
        Mode::Quiet => Ok(()),
    }
}

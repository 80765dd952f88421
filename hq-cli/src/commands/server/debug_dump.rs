use std::{
    fs::OpenOptions,
    io::{BufWriter, Write},
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
};

use anyhow::Context as _;
use hq_core::{ClientReply, ClientRequest, Selector};

use crate::{context::Context, server::unexpected, view::dump_json};

/// Options of `server debug-dump`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq server debug-dump dump.json")]
pub(crate) struct Args {
    /// Where it goes
    path: PathBuf,
}

/// Writes down what the server has in its books.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let server = context.server().await?;
    let info = match server.call(ClientRequest::ServerInfo).await? {
        ClientReply::Server(info) => info,
        other => return Err(unexpected(other).into()),
    };
    let workers = server.workers(Selector::All).await?;
    let jobs = server.job_details(Selector::All, false).await?;
    let path = &args.path;
    // Commands and environments are in it.
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    let mut file = BufWriter::new(file.with_context(|| format!("cannot write {path:?}"))?);
    serde_json::to_writer_pretty(&mut file, &dump_json(&info, &workers, &jobs))
        .map_err(std::io::Error::from)
        .and_then(|()| file.write_all(b"\n"))
        .and_then(|()| file.flush())
        .with_context(|| format!("cannot write {path:?}"))
}

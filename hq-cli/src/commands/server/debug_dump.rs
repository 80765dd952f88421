use std::{io::Write, path::PathBuf};

use anyhow::Context as _;
use hq_core::{ClientReply, ClientRequest, DetailPart, Selector};

use crate::{
    args::ShowSecrets,
    context::Context,
    output::{JsonStream, PrivateFile},
    server::unexpected,
    view::{LiveTasks, begin_job_json, dump_rest, dump_tasks},
};

/// Options of `server debug-dump`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq server debug-dump dump.json")]
pub(crate) struct Args {
    /// Where it goes
    path: PathBuf,
    #[command(flatten)]
    secrets: ShowSecrets,
}

/// Writes down what the server has in its books.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let server = context.server().await?;
    let info = match server.call(ClientRequest::ServerInfo).await? {
        ClientReply::Server(info) => info,
        other => return Err(unexpected(other).into()),
    };
    let workers = server.workers(Selector::All).await?;
    let path = &args.path;
    // Commands and environments are in it.
    let mut file = PrivateFile::create(path)?;
    let write = |bytes: &[u8]| file.write_all(bytes).with_context(|| format!("cannot write {path:?}"));
    let mut json = JsonStream::new(write);
    json.object()?;
    json.key("jobs")?;
    json.array()?;
    let mut live = LiveTasks::default();
    let mut details = server.details(Selector::All, DetailPart::default());
    while let Some(piece) = details.next().await? {
        let detail = args.secrets.shown(piece.detail);
        if piece.is_first {
            begin_job_json(&detail, &mut json)?;
        }
        live.add(&detail);
        dump_tasks(&detail, &mut json)?;
        if piece.is_last {
            json.close()?;
            json.close()?;
        }
    }
    json.close()?;
    dump_rest(&info, &workers, live, &mut json)?;
    json.end()?;
    file.finish()
}

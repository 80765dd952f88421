use anyhow::bail;
use hq_core::{IdList, Selector};

use crate::{context::Context, output::Mode};

/// Options of `worker address`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq worker address 1\n  ssh $(hq worker address 1)")]
pub(crate) struct Args {
    /// Which worker
    id: u32,
}

/// Prints the name of a worker's machine, also of one that has ended.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let server = context.server().await?;
    let workers = server.workers(Selector::Ids(IdList::range(args.id, 1))).await?;
    let Some(worker) = workers.first() else { bail!("Worker {} not found", args.id) };
    match context.out.mode() {
        Mode::Cli => context.out.line(&worker.config.hostname),
        Mode::Json => context.out.json(&serde_json::json!({ "address": worker.config.hostname })),
        Mode::Quiet => Ok(()),
    }
}

use std::path::PathBuf;

use clap::Subcommand;

use crate::{context::Context, dashboard};

/// Options of `dashboard`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hq dashboard                     # what the server does
  hq dashboard replay ~/hq.journal # what is in a journal; no server is needed

Keys: j jobs, a queues, w workers; arrows, tab and enter move; o and p shift the time that is looked at, k and l zoom, r goes
back to the latest moment; ? shows all keys, q quits.

How things were before the dashboard was started is known where the server has a journal that can be read here. How busy
machines are is known of workers with --overview-interval.")]
pub(crate) struct Args {
    #[command(subcommand)]
    source: Option<Source>,
}

#[derive(Debug, Subcommand)]
enum Source {
    /// Show what the server does (the default)
    #[command(after_help = "Examples:\n  hq dashboard stream\n  hq dashboard")]
    Stream,
    /// Show what is in a journal file, at any moment of it
    #[command(after_help = "Examples:\n  hq dashboard replay ~/hq.journal")]
    Replay {
        /// The journal
        journal: PathBuf,
    },
}

/// Shows what runs, on the whole terminal.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    match args.source {
        None | Some(Source::Stream) => dashboard::stream(context).await?,
        Some(Source::Replay { journal }) => dashboard::replay(&journal, context).await?,
    }
    context.out.wrote_all();
    Ok(())
}

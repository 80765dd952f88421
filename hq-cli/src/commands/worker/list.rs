use clap::ValueEnum;
use hq_core::Selector;

use crate::{
    context::Context,
    output::Mode,
    view::{worker_json, worker_list, worker_state},
};

/// Options of `worker list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq worker list\n  hq worker list --all\n  hq worker list --filter offline")]
pub(crate) struct Args {
    /// List workers that have ended, too
    #[arg(long, conflicts_with = "filter")]
    all: bool,
    /// List only workers in this state
    #[arg(long, value_name = "STATE")]
    filter: Option<Filter>,
}

/// Which workers.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Filter {
    /// Those that are there.
    Running,
    /// Those that have ended.
    Offline,
}

/// Lists workers.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let server = context.server().await?;
    let mut workers = server.workers(Selector::All).await?;
    workers.retain(|worker| match args.filter {
        _ if args.all => true,
        None | Some(Filter::Running) => worker.ended.is_none(),
        Some(Filter::Offline) => worker.ended.is_some(),
    });
    match context.out.mode() {
        Mode::Cli => context.out.table(&worker_list(&workers)),
        Mode::Json => context.out.json(&workers.iter().map(|worker| worker_json(worker, false)).collect::<Vec<_>>()),
        Mode::Quiet => {
            workers.iter().try_for_each(|worker| context.out.line(&format!("{} {}", worker.id, worker_state(worker))))
        }
    }
}

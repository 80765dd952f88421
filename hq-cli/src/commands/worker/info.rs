use hq_core::Selector;

use crate::{
    context::Context,
    output::Mode,
    parse,
    server::missing,
    view::{worker_details, worker_json},
};

/// Options of `worker info`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq worker info 1\n  hq worker info last\n  hq worker info 1-4,7")]
pub(crate) struct Args {
    /// Which workers: `last`, `all` or ids
    #[arg(value_parser = parse::reader(parse::jobs))]
    selector: Selector,
}

/// Shows workers with all details.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let server = context.server().await?;
    let workers = server.workers(args.selector.clone()).await?;
    let found: Vec<u32> = workers.iter().map(|worker| worker.id.0).collect();
    for id in missing(&args.selector, &found) {
        context.out.error(&format!("Worker {id} not found"));
    }
    match context.out.mode() {
        Mode::Cli => {
            for (i, worker) in workers.iter().enumerate() {
                if i > 0 {
                    context.out.line("")?;
                }
                context.out.table(&worker_details(worker))?;
            }
            Ok(())
        }
        Mode::Json => context.out.json(&workers.iter().map(|worker| worker_json(worker, true)).collect::<Vec<_>>()),
        Mode::Quiet => Ok(()),
    }
}

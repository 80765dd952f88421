use hq_core::{ClientReply, ClientRequest, Selector, StopOutcome};
use tracing::info;

use crate::{context::Context, parse, server::unexpected};

/// Options of `worker stop`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq worker stop 1\n  hq worker stop all\n  hq worker stop 1-4,7")]
pub(crate) struct Args {
    /// Which workers: `last`, `all` or ids
    #[arg(value_parser = parse::reader(parse::jobs))]
    selector: Selector,
}

/// Stops workers.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let server = context.server().await?;
    let mut outcomes = match server.call(ClientRequest::StopWorkers(args.selector)).await? {
        ClientReply::WorkersStopped(outcomes) => outcomes,
        other => return Err(unexpected(other).into()),
    };
    outcomes.sort_by_key(|(id, _)| *id);
    for (id, outcome) in outcomes {
        match outcome {
            StopOutcome::Stopped => info!("Worker {id} stopped"),
            StopOutcome::AlreadyStopped => {
                context.out.warn(&format!("Stopping worker {id} failed; worker is already stopped"))
            }
            StopOutcome::NotFound => context.out.error(&format!("Stopping worker {id} failed; worker not found")),
        }
    }
    Ok(())
}

use hq_core::{ClientReply, ClientRequest, CloseOutcome, Selector};
use tracing::info;

use crate::{context::Context, parse, server::unexpected};

/// Options of `job close`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq job close last\n  hq job close 1-3")]
pub(crate) struct Args {
    /// Which jobs: `last`, `all` or ids
    #[arg(value_parser = parse::reader(parse::jobs))]
    selector: Selector,
}

/// Closes open jobs.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let server = context.server().await?;
    let outcomes = match server.call(ClientRequest::CloseJobs(args.selector)).await? {
        ClientReply::Closed(outcomes) => outcomes,
        other => return Err(unexpected(other).into()),
    };
    if outcomes.is_empty() {
        info!("There is nothing to close");
    }
    for (id, outcome) in outcomes {
        match outcome {
            CloseOutcome::Closed => info!("Job {id} closed"),
            CloseOutcome::AlreadyClosed => {
                context.out.error(&format!("Closing job {id} failed; job is already closed"))
            }
            CloseOutcome::NotFound => context.out.error(&format!("Closing job {id} failed; job not found")),
        }
    }
    Ok(())
}

use hq_core::{CancelOutcome, ClientReply, ClientRequest, Selector};
use tracing::info;

use crate::{context::Context, parse, server::unexpected};

/// Options of `job cancel`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  hq job cancel last\n  hq job cancel 1-10,12\n  hq job cancel 1 2 3\n  hq job cancel all --reason 'wrong input'"
)]
pub(crate) struct Args {
    /// Which jobs: `last`, `all` (that wait or run) or ids
    #[arg(required = true, value_parser = parse::reader(parse::jobs))]
    selector: Vec<Selector>,
    /// Why; shown with the job, at most 200 bytes
    #[arg(long, value_name = "TEXT", value_parser = parse::reader(parse::reason))]
    reason: Option<String>,
}

/// Cancels jobs.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let jobs = parse::one_of(args.selector)?;
    let server = context.server().await?;
    let request = ClientRequest::CancelJobs { jobs, reason: args.reason };
    let outcomes = match server.call(request).await? {
        ClientReply::Canceled(outcomes) => outcomes,
        other => return Err(unexpected(other).into()),
    };
    if outcomes.is_empty() {
        info!("There is nothing to cancel");
    }
    for (id, outcome) in outcomes {
        match outcome {
            CancelOutcome::Canceled { canceled, already_ended } => {
                info!("Job {id} canceled ({canceled} tasks canceled, {already_ended} tasks already finished)");
            }
            CancelOutcome::NothingLeft => {
                context.out.error(&format!("Canceling job {id} failed; all tasks are already finished"))
            }
            CancelOutcome::NotFound => context.out.error(&format!("Canceling job {id} failed; job not found")),
        }
    }
    Ok(())
}

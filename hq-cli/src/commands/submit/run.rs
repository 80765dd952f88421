use anyhow::Context as _;
use hq_core::{ClientReply, ClientRequest, IdList, Selector};
use serde_json::json;
use tracing::{info, warn};

use super::{Args, build::build, checks::check};
use crate::{context::Context, output::Mode, server::unexpected};

/// Submits a program as a job.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    for warning in check(&args)? {
        warn!("{warning}");
    }
    let submit_dir = std::env::current_dir().context("cannot find out the working directory")?;
    let submit = build(&args, &submit_dir)?;
    let server = context.server().await?;
    let job = match server.call(ClientRequest::Submit(Box::new(submit))).await? {
        ClientReply::Submitted { job } => job,
        other => return Err(unexpected(other).into()),
    };
    match context.out.mode() {
        Mode::Cli => context.out.line(&format!("Job submitted successfully, job ID: {job}"))?,
        Mode::Json => context.out.json(&json!({ "id": job }))?,
        Mode::Quiet => context.out.line(&job.to_string())?,
    }
    if args.wait {
        context.out.flush()?;
        info!("Waiting for job {job} to end");
        let jobs = Selector::Ids(IdList::range(job.0, 1));
        server.wait(ClientRequest::WaitJobs { jobs, until_closed: true }).await?;
    }
    Ok(())
}

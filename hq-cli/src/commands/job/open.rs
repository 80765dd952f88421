use hq_core::{ClientReply, ClientRequest, JobSpec};
use serde_json::json;

use crate::{context::Context, output::Mode, parse, server::unexpected};

/// Options of `job open`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq job open --name study\n  hq submit --job 1 ./simulate")]
pub(crate) struct Args {
    /// Name of the job
    #[arg(long, default_value = "job", value_parser = parse::reader(parse::job_name))]
    name: String,
    /// With more failed tasks than that the rest is aborted
    #[arg(long, value_name = "N")]
    max_fails: Option<u32>,
}

/// Opens a job.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let server = context.server().await?;
    let spec = JobSpec { name: args.name, max_fails: args.max_fails };
    let job = match server.call(ClientRequest::OpenJob(spec)).await? {
        ClientReply::Opened { job } => job,
        other => return Err(unexpected(other).into()),
    };
    match context.out.mode() {
        Mode::Cli => context.out.line(&format!("Job {job} is open.")),
        Mode::Json => context.out.json(&json!({ "id": job })),
        Mode::Quiet => context.out.line(&job.to_string()),
    }
}

use hq_core::Selector;

use crate::{
    context::Context,
    output::Mode,
    view::{job_summary, job_summary_json, job_summary_lines},
};

/// Options of `job summary`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq job summary\n  hq job summary --output-mode=json")]
pub(crate) struct Args {}

/// Counts jobs by state.
pub(crate) async fn run(_: Args, context: &mut Context) -> anyhow::Result<()> {
    let server = context.server().await?;
    let jobs = server.jobs(Selector::All).await?;
    match context.out.mode() {
        Mode::Cli => context.out.table(&job_summary(&jobs)),
        Mode::Json => context.out.json(&job_summary_json(&jobs)),
        Mode::Quiet => job_summary_lines(&jobs).iter().try_for_each(|line| context.out.line(line)),
    }
}

use hq_core::Selector;

use crate::{
    args::JobStateArg,
    context::Context,
    output::Mode,
    view::{JobFilter, job_info_json, job_list, quiet_line},
};

/// Options of `job list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq job list\n  hq job list --all\n  hq job list --filter failed,canceled")]
pub(crate) struct Args {
    /// List all jobs; without this only waiting, running and open ones
    #[arg(long, conflicts_with = "filter")]
    all: bool,
    /// List only jobs in these states
    #[arg(long, value_name = "STATES", value_delimiter = ',')]
    filter: Vec<JobStateArg>,
    /// Show why jobs were cancelled
    #[arg(long, short)]
    verbose: bool,
}

/// Lists jobs.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let filter = match (args.all, args.filter) {
        (true, _) => JobFilter::All,
        (false, states) if states.is_empty() => JobFilter::Usual,
        (false, states) => JobFilter::States(states.into_iter().map(Into::into).collect()),
    };
    let server = context.server().await?;
    let all = server.jobs(Selector::All).await?;
    let jobs: Vec<_> = all.iter().filter(|job| filter.admits(job)).collect();
    match context.out.mode() {
        Mode::Cli => {
            let (table, notes) = job_list(&jobs, all.len(), args.verbose);
            context.out.table(&table)?;
            notes.iter().try_for_each(|note| context.out.line(note))
        }
        Mode::Json => context.out.json(&jobs.into_iter().map(job_info_json).collect::<Vec<_>>()),
        Mode::Quiet => jobs.into_iter().try_for_each(|job| context.out.line(&quiet_line(job))),
    }
}

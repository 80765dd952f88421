use hq_core::Selector;
use tracing::error;

use super::why::first_waiting;
use crate::{
    context::Context,
    output::{Mode, now},
    parse,
    server::missing,
    view::{job_detail_json, job_details, job_failures, why},
};

/// Options of `job info`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq job info last\n  hq job info 1-3 --output-mode=json")]
pub(crate) struct Args {
    /// Which jobs: `last`, `all` or ids
    #[arg(value_parser = parse::reader(parse::jobs))]
    selector: Selector,
}

/// Shows jobs with all details.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let mode = context.out.mode();
    let server = context.server().await?;
    let jobs = server.job_details(args.selector.clone(), mode == Mode::Json).await?;
    let found: Vec<u32> = jobs.iter().map(|job| job.info.id.0).collect();
    for id in missing(&args.selector, &found) {
        error!("Job {id} not found");
    }
    match mode {
        Mode::Cli => {
            for job in &jobs {
                context.out.table(&job_details(job, now()))?;
                if let Some((table, line)) = job_failures(job) {
                    context.out.table(&table)?;
                    context.out.line(&line)?;
                }
                // Scripts read the tables alone; people want to know this next.
                if context.out.is_terminal()
                    && let Some((task, explained)) = first_waiting(&server, job).await?
                {
                    why(job, task, &explained).iter().try_for_each(|line| context.out.line(line))?;
                }
            }
            Ok(())
        }
        Mode::Json => context.out.json(&jobs.iter().map(job_detail_json).collect::<Vec<_>>()),
        Mode::Quiet => Ok(()),
    }
}

use hq_core::{Selector, TaskState};
use serde_json::{Map, Value};
use tracing::error;

use crate::{
    args::TaskStateArg,
    context::Context,
    output::Mode,
    parse,
    server::missing,
    view::{ids_text, task_rows},
};

/// Options of `job task-ids`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq job task-ids last\n  hq job task-ids 1 --filter failed,canceled")]
pub(crate) struct Args {
    /// Which jobs: `last`, `all` or ids
    #[arg(value_parser = parse::reader(parse::jobs))]
    selector: Selector,
    /// Only tasks in these states
    #[arg(long, value_name = "STATES", value_delimiter = ',')]
    filter: Vec<TaskStateArg>,
}

/// Prints numbers of tasks.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let states: Vec<TaskState> = args.filter.into_iter().map(Into::into).collect();
    let wanted = |state| states.is_empty() || states.contains(&state);
    let server = context.server().await?;
    let jobs = server.job_details(args.selector.clone(), false).await?;
    let found: Vec<u32> = jobs.iter().map(|job| job.info.id.0).collect();
    for id in missing(&args.selector, &found) {
        error!("Job {id} not found");
    }
    match (context.out.mode(), &jobs[..]) {
        (Mode::Cli, [job]) => context.out.line(&ids_text(job, wanted)),
        (Mode::Cli, jobs) => {
            jobs.iter().try_for_each(|job| context.out.line(&format!("{}: {}", job.info.id, ids_text(job, wanted))))
        }
        (Mode::Json, jobs) => {
            let numbers = |job| task_rows(job, |_, state| wanted(state)).iter().map(|row| row.number.0).collect();
            let map: Map<String, Value> = jobs.iter().map(|job| (job.info.id.to_string(), numbers(job))).collect();
            context.out.json(&map)
        }
        (Mode::Quiet, _) => Ok(()),
    }
}

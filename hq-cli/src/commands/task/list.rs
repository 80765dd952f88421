use hq_core::{IdList, Selector, TaskState};
use serde_json::{Map, Value};
use tracing::{info, warn};

use crate::{
    args::TaskStateArg,
    context::Context,
    output::{Mode, now},
    parse,
    server::missing,
    view::{has_cut_error, task_json, task_list, task_rows},
};

/// Options of `task list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq task list last\n  hq task list 1-3 --task-status failed -v")]
pub(crate) struct Args {
    /// Which jobs: `last` or ids
    #[arg(value_parser = parse::reader(parse::jobs_without_all))]
    selector: Selector,
    /// Only these tasks
    #[arg(long, value_name = "IDS", value_parser = parse::reader(parse::ids))]
    tasks: Option<IdList>,
    /// Only tasks in these states
    #[arg(long, value_name = "STATES", value_delimiter = ',')]
    task_status: Vec<TaskStateArg>,
    /// Show whole errors
    #[arg(long, short)]
    verbose: bool,
}

/// Lists tasks of jobs.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let states: Vec<TaskState> = args.task_status.into_iter().map(Into::into).collect();
    let mode = context.out.mode();
    let server = context.server().await?;
    let details = server.job_details(args.selector.clone(), mode == Mode::Json).await?;
    let found: Vec<u32> = details.iter().map(|job| job.info.id.0).collect();
    for id in missing(&args.selector, &found) {
        warn!("Job {id} not found");
    }
    let jobs: Vec<_> = details
        .iter()
        .map(|job| {
            let rows = task_rows(job, |number, state| {
                args.tasks.as_ref().is_none_or(|tasks| tasks.index_of(number.0).is_some())
                    && (states.is_empty() || states.contains(&state))
            });
            (job, rows)
        })
        .collect();
    match mode {
        Mode::Cli => {
            context.out.table(&task_list(&jobs, now(), args.verbose))?;
            if !args.verbose && jobs.iter().any(|(_, rows)| has_cut_error(rows)) {
                info!("Some errors are cut; use -v to see them in full");
            }
            Ok(())
        }
        Mode::Json => {
            let tasks = |(job, rows): &(&_, Vec<_>)| rows.iter().map(|row| task_json(job, row)).collect::<Value>();
            let map: Map<String, Value> = jobs.iter().map(|job| (job.0.info.id.to_string(), tasks(job))).collect();
            context.out.json(&map)
        }
        Mode::Quiet => Ok(()),
    }
}

use hq_core::{IdList, Selector};
use jiff::tz::TimeZone;
use tracing::{error, warn};

use crate::{
    context::Context,
    output::{Mode, now},
    parse,
    view::{task_details, task_json, task_rows},
};

/// Options of `task info`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  hq task info last 0\n  hq task info 3 1-5,7 -v\n  hq task info 1 2 --output-mode=json"
)]
pub(crate) struct Args {
    /// Which job: `last` or an id
    #[arg(value_name = "JOB", value_parser = parse::reader(parse::job))]
    job: Selector,
    /// Which of its tasks
    #[arg(value_name = "TASKS", value_parser = parse::reader(parse::ids))]
    tasks: IdList,
    /// Show whole errors
    #[arg(long, short)]
    verbose: bool,
}

/// Shows tasks with all details.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let server = context.server().await?;
    let details = server.job_details(args.job.clone(), true).await?;
    let Some(detail) = details.first() else {
        error!("Cannot find job {}", args.job);
        return empty(context);
    };
    let rows = task_rows(detail, |number, _| args.tasks.index_of(number.0).is_some());
    let found: Vec<u32> = rows.iter().map(|row| row.number.0).collect();
    for number in args.tasks.iter().filter(|number| found.binary_search(number).is_err()) {
        warn!("Task {number} not found");
    }
    match context.out.mode() {
        Mode::Cli => {
            let zone = TimeZone::system();
            rows.iter().try_for_each(|row| context.out.table(&task_details(detail, row, now(), &zone, args.verbose)))
        }
        Mode::Json => context.out.json(&rows.iter().map(|row| task_json(detail, row)).collect::<Vec<_>>()),
        Mode::Quiet => Ok(()),
    }
}

/// Nothing was found.
fn empty(context: &mut Context) -> anyhow::Result<()> {
    match context.out.mode() {
        Mode::Json => context.out.json(&[(); 0]),
        Mode::Cli | Mode::Quiet => Ok(()),
    }
}

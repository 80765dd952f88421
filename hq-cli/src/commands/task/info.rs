use hq_core::{IdList, Selector};
use jiff::tz::TimeZone;

use crate::{
    args::ShowSecrets,
    context::Context,
    output::{Mode, now},
    parse,
    server::MISSING_MAX,
    view::{Programs, TaskFilter, task_details, task_json, task_rows, unknown_tasks},
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
    #[command(flatten)]
    secrets: ShowSecrets,
}

/// Shows tasks with all details.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let filter = TaskFilter { ids: Some(args.tasks.clone()), states: vec![] };
    let server = context.server().await?;
    let mut details = server.details(args.job.clone(), filter.part(true));
    let mut first = details.next().await?;
    match &first {
        None => context.out.error(&format!("Cannot find job {}", args.job)),
        Some(piece) => {
            let (unknown, count) = unknown_tasks(&piece.detail, &args.tasks, MISSING_MAX);
            unknown.iter().for_each(|number| context.out.warn(&format!("Task {number} not found")));
            if count > unknown.len() as u64 {
                context
                    .out
                    .warn(&format!("{count} of the tasks do not exist; only the first {} are named", unknown.len()));
            }
        }
    }
    match context.out.mode() {
        Mode::Cli => {
            let zone = TimeZone::system();
            while let Some(piece) = first {
                let detail = args.secrets.shown(piece.detail);
                for row in task_rows(&detail, &filter) {
                    context.out.table(&task_details(&detail, &row, now(), &zone, args.verbose))?;
                }
                first = details.next().await?;
            }
            Ok(())
        }
        Mode::Json => {
            let mut json = context.out.json_stream()?;
            json.array()?;
            while let Some(piece) = first {
                let programs = Programs::new(&piece.detail);
                for row in task_rows(&piece.detail, &filter) {
                    json.value(&task_json(&programs, &row))?;
                }
                first = details.next().await?;
            }
            json.end()
        }
        Mode::Quiet => Ok(()),
    }
}

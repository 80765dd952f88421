use hq_core::{IdList, JobDetail, Selector, SubmitInfo, TaskIds, TaskState};
use tracing::info;

use crate::{
    args::TaskStateArg,
    context::Context,
    output::{LongTable, Mode, now},
    parse,
    server::missing,
    view::{Programs, TaskFilter, TaskTable, is_cut, task_json, task_rows},
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
    let filter = TaskFilter { ids: args.tasks, states };
    let mode = context.out.mode();
    let server = context.server().await?;
    let found: Vec<u32> = server.jobs(args.selector.clone()).await?.iter().map(|job| job.id.0).collect();
    for id in missing(&args.selector, &found) {
        context.out.warn(&format!("Job {id} not found"));
    }
    let jobs = IdList::from_numbers(found.iter().copied())?;
    let mut details = server.details(Selector::Ids(jobs), filter.part(mode == Mode::Json));
    match mode {
        Mode::Cli => {
            let table = TaskTable { one_job: found.len() == 1, now: now(), verbose: args.verbose };
            let mut rows: Option<LongTable> = None;
            let mut some_cut = false;
            while let Some(piece) = details.next().await? {
                let detail = &piece.detail;
                let rows = rows.get_or_insert_with(|| LongTable::new(table.head(), table.widths(largest(detail))));
                for row in task_rows(detail, &filter) {
                    some_cut |= is_cut(detail, &row);
                    rows.row(table.row(detail, &row), &mut context.out)?;
                }
            }
            rows.unwrap_or_else(|| LongTable::new(table.head(), vec![])).end(&mut context.out)?;
            if some_cut && !args.verbose {
                info!("Some errors are cut; use -v to see them in full");
            }
            Ok(())
        }
        Mode::Json => {
            let mut json = context.out.json_stream()?;
            json.object()?;
            while let Some(piece) = details.next().await? {
                if piece.is_first {
                    json.key(&piece.detail.info.id.to_string())?;
                    json.array()?;
                }
                let programs = Programs::new(&piece.detail);
                for row in task_rows(&piece.detail, &filter) {
                    json.value(&task_json(&programs, &row))?;
                }
                if piece.is_last {
                    json.close()?;
                }
            }
            json.end()
        }
        Mode::Quiet => Ok(()),
    }
}

/// The largest number of a task of the job.
fn largest(detail: &JobDetail) -> u32 {
    let largest = |info: &SubmitInfo| match &info.submit.ids {
        TaskIds::Given(ids) => ids.max(),
        TaskIds::Next(_) => None,
    };
    detail.submits.iter().filter_map(largest).max().unwrap_or(0)
}

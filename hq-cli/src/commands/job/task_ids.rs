use hq_core::{IdList, Selector, TaskState};

use crate::{
    args::TaskStateArg,
    context::Context,
    output::Mode,
    parse,
    server::missing,
    view::{TaskFilter, TaskRuns, task_rows},
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
    let filter = TaskFilter { ids: None, states };
    let server = context.server().await?;
    let found: Vec<u32> = server.jobs(args.selector.clone()).await?.iter().map(|job| job.id.0).collect();
    for id in missing(&args.selector, &found) {
        context.out.error(&format!("Job {id} not found"));
    }
    let mode = context.out.mode();
    if mode == Mode::Quiet {
        return Ok(());
    }
    let mut details = server.details(Selector::Ids(IdList::from_numbers(found.iter().copied())?), filter.part(false));
    if mode == Mode::Json {
        let mut json = context.out.json_stream()?;
        json.object()?;
        while let Some(piece) = details.next().await? {
            if piece.is_first {
                json.key(&piece.detail.info.id.to_string())?;
                json.array()?;
            }
            task_rows(&piece.detail, &filter).try_for_each(|row| json.value(&row.number))?;
            if piece.is_last {
                json.close()?;
            }
        }
        return json.end();
    }
    let mut runs = TaskRuns::default();
    while let Some(piece) = details.next().await? {
        runs.add(&piece.detail, &filter);
        if piece.is_last {
            let ids = std::mem::take(&mut runs).text();
            match found.len() {
                1 => context.out.line(&ids)?,
                _ => context.out.line(&format!("{}: {ids}", piece.detail.info.id))?,
            }
        }
    }
    Ok(())
}

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, BufReader},
    os::unix::ffi::OsStrExt,
    path::Path,
};

use anyhow::{Context as _, bail};
use hq_core::{IdList, Instance, JobDetail, Selector, TaskState};
use tracing::{error, warn};

use crate::{
    args::{Channel, TaskStateArg},
    context::Context,
    output::{Mode, StdoutClosed},
    parse,
    server::missing,
    view::{TaskRow, body, final_paths, locate, task_rows},
};

/// Options of `job cat`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq job cat last stdout\n  hq job cat 1 stderr --tasks 1-5 --print-task-header")]
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
    /// Print a line with job and task before each output
    #[arg(long)]
    print_task_header: bool,
    /// Which output
    channel: Channel,
}

/// Prints outputs of tasks, byte for byte.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    if context.out.mode() == Mode::Json {
        bail!("JSON output mode doesn't support job output");
    }
    let server = context.server().await?;
    let jobs = server.job_details(args.selector.clone(), false).await?;
    let found: Vec<u32> = jobs.iter().map(|job| job.info.id.0).collect();
    for id in missing(&args.selector, &found) {
        error!("Job {id} was not found");
    }
    if jobs.is_empty() && args.selector == Selector::Last {
        error!("No jobs were found");
    }
    jobs.iter().try_for_each(|job| print(job, &args, context))
}

fn print(job: &JobDetail, args: &Args, context: &mut Context) -> anyhow::Result<()> {
    let id = job.info.id;
    let states: Vec<TaskState> = args.task_status.iter().copied().map(Into::into).collect();
    let rows = task_rows(job, |number, state| {
        args.tasks.as_ref().is_none_or(|tasks| tasks.index_of(number.0).is_some())
            && (states.is_empty() || states.contains(&state))
    });
    for number in args.tasks.iter().flat_map(|tasks| tasks.iter()) {
        if locate(job, number.into()).is_none() {
            warn!("Task {number} of job {id} not found");
        }
    }
    if rows.is_empty() {
        warn!("No tasks were selected for job {id}, there is nothing to print");
    }
    let waiting = rows.iter().filter(|row| !has_started(row)).count();
    if waiting > 0 {
        warn!("Tasks of job {id} that have not started and have no output: {waiting}");
    }
    for row in rows.iter().filter(|row| has_started(row)) {
        let Some(path) = output_path(job, row, args.channel) else {
            warn!("Task {} has no `{}` stream associated with it", row.number, args.channel.name());
            continue;
        };
        if args.print_task_header {
            context.out.line(&format!("# Job {id}, task {}", row.number))?;
        }
        let path = Path::new(OsStr::from_bytes(&path));
        if let Err(error) = print_file(path, context) {
            if error.is::<StdoutClosed>() || !error.is::<Unreadable>() {
                return Err(error);
            }
            warn!("Cannot print the `{}` of task {}: {error:#}", args.channel.name(), row.number);
        }
    }
    Ok(())
}

fn has_started(row: &TaskRow<'_>) -> bool {
    row.info.is_some_and(|info| info.started.is_some())
}

/// The output file cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {0:?}")]
struct Unreadable(std::path::PathBuf, #[source] io::Error);

fn print_file(path: &Path, context: &mut Context) -> anyhow::Result<()> {
    let file = File::open(path).map_err(|error| Unreadable(path.to_owned(), error))?;
    context.out.copy(&mut BufReader::with_capacity(1 << 16, file)).with_context(|| format!("cannot print {path:?}"))
}

fn output_path(job: &JobDetail, row: &TaskRow<'_>, channel: Channel) -> Option<Vec<u8>> {
    let (submit, index) = locate(job, row.number)?;
    let spec = body(submit).program(submit, index)?;
    let instance = row.info.map_or(Instance(0), |info| info.instance);
    let paths = final_paths(&spec, job.info.id, &job.server_uid, row.number, instance);
    match channel {
        Channel::Stdout => paths.stdout,
        Channel::Stderr => paths.stderr,
    }
}

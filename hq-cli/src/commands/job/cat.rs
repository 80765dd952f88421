use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::File,
    io::{self, BufReader, IsTerminal},
    os::unix::ffi::OsStrExt,
    path::Path,
};

use anyhow::{Context as _, bail};
use hq_core::{IdList, Instance, JobDetail, JobId, Selector, TaskState};
use hq_stream::{StreamDir, StreamError};
use tracing::{error, warn};

use super::{follow::follow, silence::why_silent};
use crate::{
    args::{Channel, TaskStateArg},
    context::Context,
    output::{Mode, StdoutClosed},
    parse,
    server::{MISSING_MAX, Server, missing},
    view::{Programs, Target, TaskFilter, TaskRow, final_paths, row_count, task_rows, unknown_tasks},
    way_back::Resume,
};

/// Options of `job cat`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hq job cat last stdout
  hq job cat 1 stderr --tasks 1-5 --print-task-header
  hq job cat 1-3 stdout --task-status failed
  hq job cat last stdout --follow
  hq job cat last stdout --follow --reconnect-timeout 1h

Outputs are read where the tasks wrote them: files and stream directories have to be on a disk that this machine sees, too.")]
pub(crate) struct Args {
    /// Which jobs: `last` or ids
    #[arg(value_parser = parse::reader(parse::jobs_without_all))]
    selector: Selector,
    /// Only these tasks
    #[arg(long, value_name = "IDS", value_parser = parse::reader(parse::ids))]
    pub(super) tasks: Option<IdList>,
    /// Only tasks in these states
    #[arg(long, value_name = "STATES", value_delimiter = ',')]
    task_status: Vec<TaskStateArg>,
    /// Print a line with job and task before each output
    #[arg(long)]
    pub(super) print_task_header: bool,
    /// Go on until the job has ended, and print what tasks print meanwhile, also where this machine sees no file of
    /// theirs: streamed output comes through the server
    #[arg(long, short, conflicts_with = "task_status")]
    follow: bool,
    #[command(flatten)]
    resume: Resume,
    /// Which output
    pub(super) channel: Channel,
}

/// Prints outputs of tasks, byte for byte.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    if context.out.mode() == Mode::Json {
        bail!("JSON output mode doesn't support job output");
    }
    if args.resume.timeout().is_some() && !args.follow {
        bail!("--reconnect-timeout needs --follow");
    }
    let server = context.server().await?.resuming(args.resume, &context.global.server_dir).await?;
    let mut found: Vec<u32> = server.jobs(args.selector.clone()).await?.iter().map(|job| job.id.0).collect();
    for id in missing(&args.selector, &found) {
        error!("Job {id} was not found");
    }
    if found.is_empty() && args.selector == Selector::Last {
        error!("No jobs were found");
    }
    if args.follow {
        let [job] = found[..] else {
            if found.is_empty() {
                return Ok(());
            }
            bail!("--follow goes with one job, and {} were selected", found.len());
        };
        follow(&args, JobId(job), &server, context).await?;
        return tell_silence(&found, &args, &server, context).await;
    }
    if let Selector::Ids(ids) = &args.selector {
        // As they were named.
        found.sort_by_key(|job| ids.index_of(*job));
    }
    let states = args.task_status.iter().copied().map(Into::into).collect();
    let filter = TaskFilter { ids: args.tasks.clone(), states };
    let mut is_told = false;
    for job in found.iter().copied() {
        let mut details = server.job_details(JobId(job), filter.part(true));
        let (mut streams, mut selected, mut waiting) = (Streams::default(), 0, 0);
        while let Some(piece) = details.next().await? {
            if piece.is_first {
                tell_unknown(&piece.detail, &args);
            }
            let count = row_count(&piece.detail, &filter);
            selected += count;
            waiting += count - print(&piece.detail, &args, &filter, &mut streams, context)?;
        }
        if selected == 0 {
            warn!("No tasks were selected for job {job}, there is nothing to print");
            is_told = true;
        }
        if waiting > 0 {
            warn!("Tasks of job {job} that have not started and have no output: {waiting}");
            is_told = true;
        }
    }
    if is_told { Ok(()) } else { tell_silence(&found, &args, &server, context).await }
}

/// Tells people why they see nothing.
async fn tell_silence(found: &[u32], args: &Args, server: &Server, context: &Context) -> anyhow::Result<()> {
    if !found.is_empty() && !context.out.wrote() && io::stderr().is_terminal() {
        let jobs = server.jobs(Selector::Ids(IdList::from_numbers(found.iter().copied())?)).await?;
        warn!("{}", why_silent(&jobs, args.channel));
    }
    Ok(())
}

fn tell_unknown(job: &JobDetail, args: &Args) {
    let id = job.info.id;
    let (unknown, count) = args.tasks.as_ref().map(|tasks| unknown_tasks(job, tasks, MISSING_MAX)).unwrap_or_default();
    unknown.iter().for_each(|number| warn!("Task {number} of job {id} not found"));
    if count > unknown.len() as u64 {
        warn!("{count} of the tasks do not exist in job {id}; only the first {} are named", unknown.len());
    }
}

/// Prints the outputs of (a piece of) a job; says how many tasks have started.
fn print(
    job: &JobDetail,
    args: &Args,
    filter: &TaskFilter,
    streams: &mut Streams,
    context: &mut Context,
) -> anyhow::Result<u64> {
    let id = job.info.id;
    let mut count = 0;
    // What was never started is in runs, and has no output.
    let started = JobDetail { rest: vec![], ..job.clone() };
    let programs = Programs::new(&started);
    for row in task_rows(&started, filter).filter(has_started) {
        count += 1;
        let row = &row;
        let (number, channel) = (row.number, args.channel);
        let target = target(&programs, row, channel);
        if target == Target::None {
            warn!("Task {number} has no `{}` stream associated with it", channel.name());
            continue;
        }
        if target == Target::Live {
            warn!("The `{}` of task {number} went to those who listened and was not kept", channel.name());
            continue;
        }
        if args.print_task_header {
            context.out.line(&format!("# Job {id}, task {number}"))?;
        }
        let printed = match &target {
            Target::None | Target::Live => Ok(()),
            Target::File(path) => print_file(to_path(path), context),
            Target::Stream(dir) => match streams.open(dir, &job.server_uid) {
                Some(stream) => print_stream(stream, job, row, channel, context),
                None => Ok(()),
            },
        };
        if let Err(error) = printed {
            if error.is::<StdoutClosed>() || !(error.is::<Unreadable>() || error.is::<StreamError>()) {
                return Err(error);
            }
            warn!("Cannot print the `{}` of task {number}: {error:#}", channel.name());
        }
    }
    Ok(count)
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

/// Stream directories of a job, each read once.
#[derive(Default)]
struct Streams(BTreeMap<Vec<u8>, Option<StreamDir>>);

impl Streams {
    /// What is in a directory; nothing where it cannot be read, which is said once.
    fn open(&mut self, dir: &[u8], server_uid: &str) -> Option<&StreamDir> {
        let opened = self.0.entry(dir.to_vec()).or_insert_with(|| {
            let opened = StreamDir::open(to_path(dir), Some(server_uid)).map_err(anyhow::Error::from);
            if let Err(error) = &opened {
                warn!("{error:#}");
            }
            opened.iter().flat_map(StreamDir::warnings).for_each(|warning| warn!("{warning}"));
            opened.ok()
        });
        opened.as_ref()
    }
}

fn print_stream(
    stream: &StreamDir,
    job: &JobDetail,
    row: &TaskRow<'_>,
    channel: Channel,
    context: &mut Context,
) -> anyhow::Result<()> {
    let (id, number) = (job.info.id, row.number);
    let is_running = row.state == TaskState::Running;
    let info = match stream.task(id, number) {
        Ok(info) => info,
        // Nothing was written yet.
        Err(StreamError::NoJob(_) | StreamError::NoTask(_)) if is_running => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    // A new run has not written anything yet: what is there is of the run before.
    if row.info.is_some_and(|task| task.instance > info.run.instance) && is_running {
        return Ok(());
    }
    if info.is_damaged {
        warn!("The output of task {number} is partial: some of it was lost");
    }
    stream.copy(id, number, channel.into(), |bytes| context.out.raw(bytes))
}

pub(super) fn target(programs: &Programs<'_>, row: &TaskRow<'_>, channel: Channel) -> Target {
    let (job, Some(spec)) = (programs.detail(), programs.of(row.number)) else { return Target::None };
    let instance = row.info.map_or(Instance(0), |info| info.instance);
    let paths = final_paths(&spec, job.info.id, &job.server_uid, row.number, instance);
    match channel {
        Channel::Stdout => paths.stdout,
        Channel::Stderr => paths.stderr,
    }
}

pub(super) fn to_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

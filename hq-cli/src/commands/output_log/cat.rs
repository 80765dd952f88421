use hq_core::{IdList, JobId, TaskNumber};
use hq_stream::{StreamDir, StreamError, StreamInfo};
use tracing::warn;

use crate::{args::Channel, context::Context, parse};

/// Options of `output-log DIR cat`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hq output-log log cat 1 stdout
  hq output-log log cat 1 stderr --task 3-4,2 --allow-unfinished")]
pub(crate) struct Args {
    /// The job
    job: u32,
    /// Which output
    channel: Channel,
    /// Only these tasks, in this order
    #[arg(long, value_name = "IDS", value_parser = parse::reader(parse::ids))]
    task: Option<IdList>,
    /// Print also what tasks have written that are not through
    #[arg(long)]
    allow_unfinished: bool,
}

/// Prints outputs of tasks, byte for byte; nothing if one of them is missing.
pub(super) fn run(args: &Args, stream: &StreamDir, context: &mut Context) -> anyhow::Result<()> {
    let infos = selected(stream, JobId(args.job), args.task.as_ref())?;
    if let Some(info) = infos.iter().find(|info| !info.is_finished && !args.allow_unfinished) {
        return Err(StreamError::Unfinished(info.run.task).into());
    }
    for info in infos {
        if info.is_damaged {
            warn!("The output of task {} is partial: some of it was lost", info.run.task);
        }
        stream.copy(info.run.job, info.run.task, args.channel.into(), |bytes| context.out.raw(bytes))?;
    }
    Ok(())
}

/// The tasks that are named, in that order, or all of the job.
pub(super) fn selected(stream: &StreamDir, job: JobId, tasks: Option<&IdList>) -> Result<Vec<StreamInfo>, StreamError> {
    let all: Vec<StreamInfo> = stream.tasks(job).collect();
    if all.is_empty() {
        return Err(StreamError::NoJob(job));
    }
    tasks.map_or(Ok(all), |tasks| tasks.iter().map(|task| stream.task(job, TaskNumber(task))).collect())
}

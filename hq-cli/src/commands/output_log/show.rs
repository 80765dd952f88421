use hq_core::{JobId, TaskNumber};
use hq_stream::{Chunk, StreamDir, StreamError};

use crate::{args::Channel, context::Context};

/// Options of `output-log DIR show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq output-log log show\n  hq output-log log show --job 1 --channel stderr")]
pub(crate) struct Args {
    /// Only this job
    #[arg(long, value_name = "ID")]
    job: Option<u32>,
    /// Only this output
    #[arg(long)]
    channel: Option<Channel>,
}

/// Prints everything by time.
pub(super) fn run(args: &Args, stream: &StreamDir, context: &mut Context) -> anyhow::Result<()> {
    let job = args.job.map(JobId);
    if let Some(job) = job
        && stream.tasks(job).next().is_none()
    {
        return Err(StreamError::NoJob(job).into());
    }
    let widths = Widths::of(stream, job);
    let mut merged = stream.merged(job, args.channel.map(Into::into))?;
    while let Some(chunk) = merged.next()? {
        let prefix = widths.prefix(&chunk);
        for line in chunk.data.split_inclusive(|byte| *byte == b'\n') {
            context.out.raw(prefix.as_bytes())?;
            context.out.raw(line)?;
        }
        if !chunk.data.ends_with(b"\n") {
            context.out.raw(b"\n")?;
        }
    }
    Ok(())
}

/// Digits of the widest ids.
struct Widths {
    job: usize,
    task: usize,
}

impl Widths {
    fn of(stream: &StreamDir, only: Option<JobId>) -> Self {
        let jobs = || stream.jobs().filter(|job| only.is_none_or(|only| only == *job));
        let tasks = jobs().flat_map(|job| stream.tasks(job)).map(|info| info.run.task).max();
        let width = |id: u32| id.to_string().len();
        let widest_job = jobs().max().map_or(1, |job| width(job.0));
        Self { job: widest_job, task: tasks.map_or(1, |TaskNumber(task)| width(task)) }
    }

    fn prefix(&self, chunk: &Chunk<'_>) -> String {
        let (job, task, channel) = (chunk.run.job.0, chunk.run.task.0, chunk.channel.number());
        format!("{job:0job_width$}.{task:0task_width$}:{channel}> ", job_width = self.job, task_width = self.task)
    }
}

use std::{
    fs,
    io::{self, Read},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use hq_core::{Blob, JobId};
use tracing::warn;

use crate::{
    commands::submit::{Relations, hand_over},
    context::Context,
    jobfile,
    output::WithLines,
};

/// Larger files are none that somebody wrote.
const FILE_MAX: u64 = 1 << 30;

/// Options of `job submit-file`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hq job submit-file pipeline.toml
  hq job submit-file more.toml --job 3

A file with three tasks, the last of which waits for the others:
  name = \"pipeline\"
  [[task]]
  id = 1
  command = [\"./prepare\", \"left\"]
  [[task]]
  id = 2
  command = [\"./prepare\", \"right\"]
  [[task]]
  id = 3
  command = [\"./merge\"]
  deps = [1, 2]
  [[task.request]]
  resources = { cpus = 4, \"gpus/nvidia\" = 0.5 }

Instead of [[task]], an array:
  [array]
  ids = \"1-100\"
  command = [\"./simulate\"]

Keys: name, max_fails, stream; of tasks id, deps, deps_any, deps_failed, of an array ids, entries; of both command, env, cwd,
stdout, stderr, stdin, pin, task_dir, time_limit, priority, retry, crash_limit and request (resources, n_nodes, time_request, weight; several
are alternatives). See docs/jobfile.md.")]
pub(crate) struct Args {
    /// The file, in TOML
    path: PathBuf,
    /// Submit to this open job
    #[arg(long, value_name = "ID")]
    job: Option<u32>,
    #[command(flatten)]
    relations: Relations,
}

/// Submits what a job file describes.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let text = read(&args.path)?;
    let submit_dir = std::env::current_dir().context("cannot find out the working directory")?;
    let submit_dir = Blob::from(submit_dir.as_os_str().as_bytes());
    let parsed = jobfile::parse(&text, args.job.map(JobId), &submit_dir);
    let invalid = |error: jobfile::FileError| WithLines {
        text: format!("Invalid job file `{}`, {error}", args.path.display()),
        lines: error.excerpt().into(),
    };
    let file = parsed.map_err(invalid)?;
    for warning in &file.warnings {
        warn!("{warning}");
    }
    let server = context.server().await?;
    hand_over(args.relations.apply(file.submit), &server, &mut context.out).await?;
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<String> {
    let unreadable = || format!("cannot read the job file `{}`", path.display());
    let mut bytes = Vec::new();
    fs::File::open(path).and_then(|file| file.take(FILE_MAX + 1).read_to_end(&mut bytes)).with_context(unreadable)?;
    if bytes.len() as u64 > FILE_MAX {
        bail!("the job file `{}` has more than {} MiB", path.display(), FILE_MAX >> 20);
    }
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error)).with_context(unreadable)
}

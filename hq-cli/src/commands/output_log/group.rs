use std::path::PathBuf;

use clap::Subcommand;
use hq_stream::StreamDir;
use tracing::warn;

use super::{cat, export, show, summary};
use crate::context::Context;

/// Options of `output-log`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hq submit --stream=log --array=1-1000 ./simulate
  hq output-log log summary
  hq output-log log cat 1 stdout --task 5-7
  hq output-log log show --job 1")]
pub(crate) struct Args {
    /// The stream directory
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Only what this server wrote, where several did
    #[arg(long, value_name = "UID", global = true)]
    server_uid: Option<String>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Count files, jobs, tasks and bytes
    #[command(after_help = "Examples:\n  hq output-log log summary\n  hq output-log log summary --output-mode json")]
    Summary,
    /// List the jobs, one id per line
    #[command(after_help = "Examples:\n  hq output-log log jobs")]
    Jobs,
    /// Print everything in the order in which it was printed, each line with job, task and output (0: stdout, 1: stderr)
    Show(show::Args),
    /// Print outputs of tasks, byte for byte
    Cat(cat::Args),
    /// Print outputs of tasks as JSON
    Export(export::Args),
}

impl Args {
    /// Does it.
    ///
    /// # Errors
    /// Where there is nothing to be read.
    pub(crate) fn run(self, context: &mut Context) -> anyhow::Result<()> {
        let stream = StreamDir::open(&self.dir, self.server_uid.as_deref())?;
        for warning in stream.warnings() {
            warn!("{warning}");
        }
        match self.command {
            Command::Summary => summary::run(&stream, context),
            Command::Jobs => stream.jobs().try_for_each(|job| context.out.line(&job.to_string())),
            Command::Show(args) => show::run(&args, &stream, context),
            Command::Cat(args) => cat::run(&args, &stream, context),
            Command::Export(args) => export::run(&args, &stream, context),
        }
    }
}

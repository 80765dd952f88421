use std::path::PathBuf;

use tracing::info;

use super::Filter;
use crate::{context::Context, journal::FileLog, view::EventLines};

/// Options of `journal export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hq journal export ~/hq.journal > events.jsonl
  hq journal export ~/hq.journal | jq 'select(.event.type == \"task-failed\")'

No server is needed, and one may be at work on the file.")]
pub(crate) struct Args {
    /// The journal
    path: PathBuf,
    #[command(flatten)]
    filter: Filter,
}

/// Prints the events of a journal file.
pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<()> {
    let mut log = FileLog::open(&args.path)?;
    let (mut told, mut lines, mut count) = (EventLines::default(), Vec::new(), 0_u64);
    while log.tell(&mut told, &mut lines)? {
        for line in lines.drain(..).filter(|line| args.filter.wants(line)) {
            count += line.write(|line| context.out.raw(line.as_bytes()))?;
        }
    }
    context.out.flush()?;
    info!("{count} events");
    Ok(())
}

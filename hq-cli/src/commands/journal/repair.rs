use std::path::PathBuf;

use hq_engine::{RepairError, Repaired, repair_journal};
use tracing::info;

use crate::context::Context;

/// Options of `journal repair`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hq journal repair ~/hq.journal
  hq journal repair --skip-hole ~/hq.journal

No server may be at work on the journal. What was damaged is kept beside it, as `….bad`.

Flipped bits are put right; what a crash has torn or a disk has written twice is left out. Where records are
lost, nothing is changed without --skip-hole. With it the journal goes on without them: a job of which the
submit is lost is gone, a task of which the end is lost runs again.")]
pub(crate) struct Args {
    /// The journal
    path: PathBuf,
    /// Go on without records that are lost
    #[arg(long)]
    skip_hole: bool,
}

/// Saves what can be saved of a journal.
pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<()> {
    let result = repair_journal(&args.path, args.skip_hole);
    let losses = match &result {
        Ok(Repaired { losses, .. }) | Err(RepairError::Hole { losses, .. }) => &losses[..],
        Err(_) => &[],
    };
    for loss in losses {
        context.out.line(&loss.to_string())?;
    }
    let Repaired { records, dropped, saved, .. } = result?;
    if saved.is_empty() {
        info!("nothing is wrong with it");
        return Ok(());
    }
    info!("{records} records are kept");
    if dropped > 0 {
        info!("{dropped} records mean nothing without what is lost, and are left out");
    }
    saved.iter().for_each(|path| info!("the damaged file is {path:?} now"));
    Ok(())
}

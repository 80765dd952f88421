use hq_core::{Channel, IdList, JobId};
use hq_stream::StreamDir;
use tracing::warn;

use super::{cat::selected, json_text::JsonText};
use crate::{context::Context, parse};

/// Options of `output-log DIR export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq output-log log export 1\n  hq output-log log export 1 --task 1-10")]
pub(crate) struct Args {
    /// The job
    job: u32,
    /// Only these tasks, in this order
    #[arg(long, value_name = "IDS", value_parser = parse::reader(parse::ids))]
    task: Option<IdList>,
}

/// Prints standard outputs of tasks as a JSON array. What is not UTF-8 is replaced.
pub(super) fn run(args: &Args, stream: &StreamDir, context: &mut Context) -> anyhow::Result<()> {
    let infos = selected(stream, JobId(args.job), args.task.as_ref())?;
    context.out.raw(b"[")?;
    for (n, info) in infos.iter().enumerate() {
        if info.is_damaged {
            warn!("The output of task {} is partial: some of it was lost", info.run.task);
        }
        let comma = if n == 0 { "" } else { "," };
        // Who reads this takes what is finished for all there is.
        let is_whole = info.is_finished && !info.is_damaged;
        let head = format!("{comma}\n  {{\"finished\": {is_whole}, \"id\": {}, \"stdout\": \"", info.run.task);
        context.out.raw(head.as_bytes())?;
        // Piece by piece: an output may be larger than the memory.
        let mut text = JsonText::default();
        stream
            .copy(info.run.job, info.run.task, Channel::Stdout, |bytes| context.out.raw(text.push(bytes).as_bytes()))?;
        context.out.raw(text.end().as_bytes())?;
        context.out.raw(b"\"}")?;
    }
    context.out.raw(b"\n]\n")
}

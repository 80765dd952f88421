use hq_client::{CallError, EventBatch};
use hq_core::Seq;
use tracing::warn;

use super::Filter;
use crate::{
    context::Context,
    journal::{Past, tell_missed, tell_past},
    output::Output,
    way_back::Resume,
};

/// Options of `journal stream`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  hq journal stream\n  hq journal stream --filter task,notify --job 3\n  hq journal stream --reconnect-timeout 1h"
)]
pub(crate) struct Args {
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    resume: Resume,
}

/// Prints what has happened and what happens until the server ends.
pub(crate) async fn run(Args { filter, resume }: Args, context: &mut Context) -> anyhow::Result<()> {
    let server = context.server().await?.resuming(resume, &context.global.server_dir).await?;
    let mut past = tell_past(&server, &filter, &mut context.out).await?;
    loop {
        context.out.wrote_all();
        let last = follow(past, &filter, &mut context.out).await?;
        if !server.come_back().await? {
            return Ok(());
        }
        past = tell_missed(&server, &filter, &mut context.out, last).await?;
    }
}

/// Prints what happens until the server goes away; the number of the last event.
async fn follow(past: Past, filter: &Filter, out: &mut Output) -> anyhow::Result<Seq> {
    let Past { mut told, mut stream, until, mut last } = past;
    let mut lines = Vec::new();
    while let Some(batch) = stream.next().await {
        match batch {
            Ok(EventBatch::Events(events)) => {
                last = events.last().map_or(last, |event| last.max(event.seq));
                events.iter().filter(|event| event.at > until).for_each(|event| told.tell(event, &mut lines));
                // What a worker reports is a little older than what the server saw meanwhile.
                lines.sort_by_key(|line| line.at);
                for line in lines.drain(..).filter(|line| filter.wants(line)) {
                    line.write(|line| out.raw(line.as_bytes()))?;
                }
                out.flush()?;
            }
            Ok(EventBatch::Reset { .. }) => warn!("Some events are lost: they were not read in time"),
            Err(CallError::Lost(_)) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(last)
}

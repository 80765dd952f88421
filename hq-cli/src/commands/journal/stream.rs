use hq_client::{CallError, EventBatch};
use tracing::warn;

use super::Filter;
use crate::{
    context::Context,
    journal::{Past, tell_past},
};

/// Options of `journal stream`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq journal stream\n  hq journal stream --filter task,notify --job 3")]
pub(crate) struct Args {
    #[command(flatten)]
    filter: Filter,
}

/// Prints what has happened and what happens until the server ends.
pub(crate) async fn run(Args { filter }: Args, context: &mut Context) -> anyhow::Result<()> {
    let server = context.server().await?;
    let Past { mut told, mut stream, until } = tell_past(&server, &filter, &mut context.out).await?;
    context.out.wrote_all();
    let mut lines = Vec::new();
    while let Some(batch) = stream.next().await {
        match batch {
            Ok(EventBatch::Events(events)) => {
                events.iter().filter(|event| event.at > until).for_each(|event| told.tell(event, &mut lines));
                // What a worker reports is a little older than what the server saw meanwhile.
                lines.sort_by_key(|line| line.at);
                for line in lines.drain(..).filter(|line| filter.wants(line)) {
                    line.write(|line| context.out.raw(line.as_bytes()))?;
                }
                context.out.flush()?;
            }
            Ok(EventBatch::Reset { .. }) => warn!("Some events are lost: they were not read in time"),
            Err(CallError::Lost(_)) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

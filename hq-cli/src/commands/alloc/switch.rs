use hq_core::{ClientReply, ClientRequest, QueueId};
use tracing::info;

use crate::{context::Context, server::unexpected};

/// Options of `alloc pause` and `alloc resume`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Id of the queue
    queue: u32,
}

/// Options of `alloc remove`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq alloc remove 1\n  hq alloc remove 1 --force")]
pub(crate) struct RemoveArgs {
    /// Id of the queue
    queue: u32,
    /// Even if it has allocations that run: they are ended
    #[arg(long)]
    force: bool,
}

/// A queue asks for nothing more.
pub(crate) async fn pause(args: Args, context: &mut Context) -> anyhow::Result<()> {
    done(ClientRequest::PauseQueue(QueueId(args.queue)), context).await?;
    info!("Allocation queue {} successfully paused", args.queue);
    Ok(())
}

/// A queue asks again.
pub(crate) async fn resume(args: Args, context: &mut Context) -> anyhow::Result<()> {
    done(ClientRequest::ResumeQueue(QueueId(args.queue)), context).await?;
    info!("Allocation queue {} successfully resumed", args.queue);
    Ok(())
}

/// A queue goes.
pub(crate) async fn remove(args: RemoveArgs, context: &mut Context) -> anyhow::Result<()> {
    done(ClientRequest::RemoveQueue { queue: QueueId(args.queue), force: args.force }, context).await?;
    info!("Allocation queue {} successfully removed", args.queue);
    Ok(())
}

async fn done(request: ClientRequest, context: &Context) -> anyhow::Result<()> {
    match context.server().await?.call(request).await? {
        ClientReply::Done => Ok(()),
        other => Err(unexpected(other).into()),
    }
}

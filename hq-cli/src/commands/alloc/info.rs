use clap::ValueEnum;
use hq_core::{AllocationInfo, AllocationState, ClientReply, ClientRequest, QueueId};

use crate::{
    context::Context,
    output::Mode,
    server::unexpected,
    view::{allocation_json, allocation_list},
};

/// Options of `alloc info`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq alloc info 1\n  hq alloc info 1 --filter running")]
pub(crate) struct Args {
    /// Id of the queue
    queue: u32,
    /// List only allocations in this state
    #[arg(long, value_name = "STATE")]
    filter: Option<Filter>,
}

/// Which allocations.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Filter {
    /// Not begun.
    Queued,
    /// Begun.
    Running,
    /// Over, and all was well.
    Finished,
    /// Over, and something went wrong.
    Failed,
}

impl Filter {
    const fn state(self) -> AllocationState {
        match self {
            Self::Queued => AllocationState::Queued,
            Self::Running => AllocationState::Running,
            Self::Finished => AllocationState::Finished,
            Self::Failed => AllocationState::Failed,
        }
    }
}

/// Lists the allocations of a queue.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let server = context.server().await?;
    let mut all = match server.call(ClientRequest::Allocations(QueueId(args.queue))).await? {
        ClientReply::Allocations(all) => all,
        other => return Err(unexpected(other).into()),
    };
    all.retain(|allocation: &AllocationInfo| args.filter.is_none_or(|filter| filter.state() == allocation.state));
    all.sort_by(|a, b| a.id.cmp(&b.id));
    match context.out.mode() {
        Mode::Cli => context.out.table(&allocation_list(&all)),
        Mode::Json => context.out.json(&all.iter().map(allocation_json).collect::<Vec<_>>()),
        Mode::Quiet => Ok(()),
    }
}

use hq_core::{ClientReply, ClientRequest};

use crate::{
    context::Context,
    output::Mode,
    server::unexpected,
    view::{queue_json, queue_list, queue_notes},
};

/// Options of `alloc list`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Lists queues.
pub(crate) async fn run(_: Args, context: &mut Context) -> anyhow::Result<()> {
    let server = context.server().await?;
    let queues = match server.call(ClientRequest::Queues).await? {
        ClientReply::Queues(queues) => queues,
        other => return Err(unexpected(other).into()),
    };
    match context.out.mode() {
        Mode::Cli => {
            context.out.table(&queue_list(&queues))?;
            // Scripts know these words.
            let notes = if context.out.is_terminal() { queue_notes(&queues) } else { vec![] };
            notes.into_iter().try_for_each(|note| context.out.line(note))
        }
        Mode::Json => context.out.json(&queues.iter().map(queue_json).collect::<Vec<_>>()),
        Mode::Quiet => Ok(()),
    }
}

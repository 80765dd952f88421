use super::Filter;
use crate::{context::Context, journal::tell_past};

/// Options of `journal replay`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq journal replay\n  hq journal replay | jq -r .event.type | sort | uniq -c")]
pub(crate) struct Args {
    #[command(flatten)]
    filter: Filter,
}

/// Prints what has happened.
pub(crate) async fn run(Args { filter }: Args, context: &mut Context) -> anyhow::Result<()> {
    let server = context.server().await?;
    tell_past(&server, &filter, &mut context.out).await?;
    context.out.wrote_all();
    Ok(())
}

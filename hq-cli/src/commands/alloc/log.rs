use std::{fs::File, io::BufReader, path::Path};

use anyhow::{Context as _, bail};
use hq_core::{ClientReply, ClientRequest};

use crate::{args::Channel, context::Context, output::Mode, server::unexpected};

/// Options of `alloc log`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq alloc log 1234.pbs stdout")]
pub(crate) struct Args {
    /// The batch system's id of the allocation
    allocation: String,
    /// Which output
    channel: Channel,
}

/// Prints an output of an allocation.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    if context.out.mode() == Mode::Json {
        bail!("The output of an allocation cannot be shown as JSON; leave out `--output-mode json`");
    }
    let server = context.server().await?;
    let all = match server.call(ClientRequest::FindAllocation(args.allocation.clone())).await? {
        ClientReply::Allocations(all) => all,
        other => return Err(unexpected(other).into()),
    };
    let Some(found) = all.into_iter().next() else { bail!("Allocation {} not found", args.allocation) };
    let Some(dir) = found.dir else { bail!("Allocation {} has no outputs of its own", args.allocation) };
    let path = Path::new(&dir).join(args.channel.name());
    let file = File::open(&path).with_context(|| format!("cannot read the {} {path:?}", args.channel.name()))?;
    context.out.copy(&mut BufReader::new(file)).with_context(|| format!("cannot print {path:?}"))
}

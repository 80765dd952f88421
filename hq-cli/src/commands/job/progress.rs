use hq_core::Selector;
use tracing::warn;

use crate::{
    commands::{
        waiting::{tell_end, telling},
        watch::watch,
    },
    context::Context,
    parse,
    way_back::Resume,
};

/// Options of `job progress`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq job progress last\n  hq job progress all\n  hq job progress 1-10")]
pub(crate) struct Args {
    /// Which jobs: `last`, `all` or ids
    #[arg(value_parser = parse::reader(parse::jobs))]
    selector: Selector,
    #[command(flatten)]
    resume: Resume,
}

/// Shows how far jobs are until they have ended.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let server = context.server().await?.resuming(args.resume, &context.global.server_dir).await?;
    let jobs = server.settle(args.selector).await?;
    if server.jobs(jobs.clone()).await?.is_empty() {
        warn!("There are no jobs to wait for");
        return Ok(());
    }
    let below_bar = context.out.is_terminal();
    telling(&server, jobs.clone(), below_bar, watch(&server, jobs.clone(), true, &mut context.out)).await?;
    tell_end(&server, jobs).await;
    Ok(())
}

use hq_core::{ClientRequest, Selector};

use crate::{commands::outcome::FailExitCode, context::Context, parse};

/// Options of `job wait`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  hq job wait last\n  hq job wait 1-10\n  hq job wait all --without-close\n  hq job wait 5 --fail-exit-code"
)]
pub(crate) struct Args {
    /// Which jobs: `last`, `all` or ids
    #[arg(value_parser = parse::reader(parse::jobs))]
    selector: Selector,
    /// Do not wait until open jobs are closed
    #[arg(long)]
    without_close: bool,
    #[command(flatten)]
    exit: FailExitCode,
}

/// Waits until jobs have ended, or the server is gone.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let server = context.server().await?;
    let jobs = args.exit.resolve(&server, args.selector).await?;
    let request = ClientRequest::WaitJobs { jobs: jobs.clone(), until_closed: !args.without_close };
    server.wait(request).await?;
    args.exit.check(&server, jobs).await
}

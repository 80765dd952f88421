use std::io::{self, IsTerminal};

use hq_core::{ClientRequest, Selector};

use crate::{
    commands::{
        outcome::FailExitCode,
        waiting::{tell_end, telling},
    },
    context::Context,
    parse,
    server::missing,
    way_back::Resume,
};

/// Options of `job wait`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  hq job wait last\n  hq job wait 1-10\n  hq job wait all --without-close\n  hq job wait 5 --fail-exit-code\n  hq job wait all --reconnect-timeout 1h"
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
    #[command(flatten)]
    resume: Resume,
}

/// Waits until jobs have ended, or the server is gone.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let server = context.server().await?.resuming(args.resume, &context.global.server_dir).await?;
    let jobs = server.settle(args.exit.resolve(&server, args.selector).await?).await?;
    if context.out.tells_faults() {
        let found: Vec<u32> = server.jobs(jobs.clone()).await?.iter().map(|job| job.id.0).collect();
        missing(&jobs, &found).iter().for_each(|id| context.out.note_fault(format!("Job {id} not found")));
    }
    let end = server.wait(ClientRequest::WaitJobs { jobs: jobs.clone(), until_closed: !args.without_close });
    // Scripts read both streams and expect nothing there.
    if io::stderr().is_terminal() {
        telling(&server, jobs.clone(), false, end).await?;
        tell_end(&server, jobs.clone()).await;
    } else {
        end.await?;
    }
    args.exit.check(&server, jobs).await
}

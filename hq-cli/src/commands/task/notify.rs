use anyhow::Context as _;
use hq_worker::notify;

use crate::context::Context;

/// Options of `task notify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hq task notify 'half of it is done'
  \"$HQ\" task notify \"checkpoint $n\"

Whoever waits with `hq submit --wait --on-notify PROGRAM` hears of it.")]
pub(crate) struct Args {
    /// What to say: at most 1024 bytes
    #[arg(allow_hyphen_values = true)]
    message: String,
}

/// Says something to those who watch the job of the task that this is called in.
pub(crate) async fn run(args: Args, _: &mut Context) -> anyhow::Result<()> {
    let key = std::env::var_os("HQ_ACCESS_KEY")
        .context("this command works only inside of a task: the variable HQ_ACCESS_KEY is not set")?;
    Ok(notify(&key, args.message.as_bytes())?)
}

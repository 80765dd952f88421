use std::time::Duration;

use anyhow::bail;
use hq_core::Span;
use tokio::time::{Instant, sleep, timeout_at};

use crate::{context::Context, parse};

/// A try costs little, and callers wait for servers that need only a moment.
const RETRY: Duration = Duration::from_millis(200);

/// Options of `server wait`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq server wait\n  hq server wait --timeout 30s")]
pub(crate) struct Args {
    /// Give up after that long
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse::reader(parse::span))]
    timeout: Span,
}

/// Time that the first try has in any case: with no time to wait, it is asked whether a server is there now.
const FIRST_TRY: Duration = Duration::from_secs(1);

/// Waits until a server can be connected to.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let (start, mut least) = (Instant::now(), FIRST_TRY);
    let deadline = start.checked_add(args.timeout.into());
    loop {
        let connected = match deadline {
            Some(deadline) => {
                let end = deadline.max(start + std::mem::take(&mut least));
                timeout_at(end, context.server()).await.is_ok_and(|server| server.is_ok())
            }
            // A deadline that no clock reaches.
            None => context.server().await.is_ok(),
        };
        if connected {
            return Ok(());
        }
        if deadline.is_some_and(|deadline| Instant::now() + RETRY >= deadline) {
            if let Some(deadline) = deadline {
                tokio::time::sleep_until(deadline).await;
            }
            bail!(
                "Timeout after {}: Could not connect to server at `{}`. Make sure that the server is running.",
                args.timeout,
                context.global.server_dir.display()
            );
        }
        sleep(RETRY).await;
    }
}

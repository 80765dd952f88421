use std::time::Duration;

use hq_client::CallError;
use hq_core::{ClientRequest, Selector};
use tokio::time::{MissedTickBehavior, interval};

use crate::{
    context::Context,
    output::{Mode, progress_line},
    server::Server,
};

/// How often the line is drawn anew.
const REDRAW: Duration = Duration::from_millis(200);

/// Draws how far jobs are, again and again on one line, until they have ended or the server is gone. On what is no
/// terminal only the last state is printed.
///
/// # Errors
/// As for any call, but not for a lost connection; and where standard output is closed.
pub(crate) async fn watch_progress(
    server: &Server,
    jobs: &Selector,
    until_closed: bool,
    context: &mut Context,
) -> anyhow::Result<()> {
    if context.out.mode() != Mode::Cli {
        return Ok(server.wait(ClientRequest::WaitJobs { jobs: jobs.clone(), until_closed }).await?);
    }
    let wait = server.wait(ClientRequest::WaitJobs { jobs: jobs.clone(), until_closed });
    tokio::pin!(wait);
    let mut redraw = interval(REDRAW);
    redraw.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            ended = &mut wait => break ended?,
            _ = redraw.tick(), if context.out.is_terminal() => {
                if !draw(server, jobs, context).await? {
                    break;
                }
            }
        }
    }
    if draw(server, jobs, context).await? || context.out.is_terminal() { context.out.raw(b"\n") } else { Ok(()) }
}

/// Draws the line; false when the server is gone.
async fn draw(server: &Server, jobs: &Selector, context: &mut Context) -> anyhow::Result<bool> {
    let infos = match server.jobs(jobs.clone()).await {
        Ok(infos) => infos,
        Err(CallError::Lost(_)) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    let line = progress_line(&infos, context.out.width(), context.out.colors());
    if context.out.is_terminal() {
        context.out.raw(b"\r\x1b[2K")?;
    }
    context.out.raw(line.as_bytes())?;
    context.out.flush()?;
    Ok(true)
}

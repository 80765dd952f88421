use std::{pin::pin, time::Duration};

use hq_client::CallError;
use hq_core::{ClientRequest, Selector};
use tokio::time::{MissedTickBehavior, interval};

use crate::{
    output::{Mode, Output, progress_line},
    server::Server,
};

/// How often progress is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// Waits until jobs have ended, and are closed if `until_closed`, or the server is gone; shows how far they are: on a
/// terminal again and again on one line, elsewhere once at the end.
///
/// # Errors
/// As for any call, but not for a lost connection; and where standard output is closed.
pub(crate) async fn watch(server: &Server, jobs: Selector, until_closed: bool, out: &mut Output) -> anyhow::Result<()> {
    let mut end = pin!(server.wait(ClientRequest::WaitJobs { jobs: jobs.clone(), until_closed }));
    if out.mode() != Mode::Cli {
        return end.await;
    }
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut line = String::new();
    loop {
        tokio::select! {
            ended = &mut end => {
                ended?;
                break;
            }
            _ = looks.tick(), if out.is_terminal() => {
                look(server, &jobs, out, &mut line).await?;
                out.redraw(&line)?;
            }
        }
    }
    look(server, &jobs, out, &mut line).await?;
    out.redrawn(&line)
}

/// Puts how far the jobs are into `line`; leaves it as it is where the server is gone, which ends the wait as well.
async fn look(server: &Server, jobs: &Selector, out: &Output, line: &mut String) -> anyhow::Result<()> {
    match server.jobs(jobs.clone()).await {
        Ok(jobs) => *line = progress_line(&jobs, out.width(), out.colors()),
        Err(CallError::Lost(_)) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

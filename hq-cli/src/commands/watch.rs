use std::{pin::pin, time::Duration};

use hq_core::{ClientRequest, JobInfo, Selector, TaskCounts, TaskState};
use tokio::time::{MissedTickBehavior, interval};

use crate::{
    output::{Output, progress_line},
    server::Server,
};

/// How often progress is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// Waits until jobs have ended, and be closed if `until_closed`, or the server is gone; shows how far they are.
///
/// # Errors
/// As the calls.
pub(crate) async fn watch(server: &Server, jobs: Selector, until_closed: bool, out: &mut Output) -> anyhow::Result<()> {
    let mut end = pin!(server.wait(ClientRequest::WaitJobs { jobs: jobs.clone(), until_closed }));
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut line = String::new();
    loop {
        tokio::select! {
            ended = &mut end => {
                ended?;
                break;
            }
            _ = looks.tick() => {
                // A server that is gone ends the wait as well.
                let Ok(jobs) = server.jobs(jobs.clone()).await else { continue };
                line = line_of(&jobs, until_closed);
                out.redraw(&line)?;
            }
        }
    }
    if let Ok(jobs) = server.jobs(jobs).await {
        line = line_of(&jobs, until_closed);
    }
    out.redrawn(&line)
}

fn line_of(jobs: &[JobInfo], until_closed: bool) -> String {
    const STATES: [TaskState; 6] = [
        TaskState::Waiting,
        TaskState::Running,
        TaskState::Finished,
        TaskState::Failed,
        TaskState::Canceled,
        TaskState::Aborted,
    ];
    let mut counts = TaskCounts::default();
    for job in jobs {
        for state in STATES {
            *counts.of_mut(state) += job.counts.of(state);
        }
    }
    let goes_on = |job: &&JobInfo| !job.counts.is_terminated() || (until_closed && job.is_open);
    let ended = jobs.len() - jobs.iter().filter(goes_on).count();
    progress_line(ended, jobs.len(), &counts)
}

//! What is told, on standard error, to who waits for jobs.

use std::{
    future::Future,
    io::{self, Write},
    time::Duration,
};

use hq_client::CallError;
use hq_core::{DetailPart, IdList, JobInfo, Selector, Standing, TaskCounts, TaskNumber, TaskState};
use tracing::{debug, warn};

use super::job::first_waiting;
use crate::{
    server::Server,
    view::{counted, why},
};

/// After that long it is looked whether anything can happen: workers that come at once are none to speak of.
const LOOK_AFTER: Duration = Duration::from_secs(2);

/// Waits for `end`; meanwhile warns, once, where it cannot come by itself: no worker can ever run what is waited for, or a job
/// is still open. With `below_bar` there is an unfinished line on the terminal.
pub(crate) async fn telling<T>(server: &Server, jobs: Selector, below_bar: bool, end: impl Future<Output = T>) -> T {
    let mut end = std::pin::pin!(end);
    tokio::select! {
        ended = &mut end => return ended,
        () = tokio::time::sleep(LOOK_AFTER) => {}
    }
    tokio::select! {
        ended = &mut end => return ended,
        stuck = stuck(server, jobs) => match stuck {
            Ok(lines) if lines.is_empty() => {}
            Ok(lines) => {
                if below_bar {
                    // There is nobody left to tell when this cannot be written.
                    _ = writeln!(io::stderr());
                }
                warn!("Waiting: {}", lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" "));
            }
            Err(error) => debug!("the jobs that are waited for cannot be looked at: {error:#}"),
        },
    }
    end.await
}

/// Why nothing happens: of the first job that has no task running, where its first task can run nowhere.
async fn stuck(server: &Server, jobs: Selector) -> anyhow::Result<Vec<String>> {
    let jobs = server.jobs(jobs).await?;
    let Some(job) = jobs.iter().find(|job| job.counts.waiting > 0) else {
        let open = jobs.iter().find(|job| job.is_open && job.counts.is_terminated());
        return Ok(open
            .map(|JobInfo { id, .. }| format!("job {id} is open until `hq job close {id}`."))
            .into_iter()
            .collect());
    };
    if jobs.iter().any(|job| job.counts.running > 0) {
        return Ok(vec![]);
    }
    let Some((task, explained)) = first_waiting(server, job.id).await? else { return Ok(vec![]) };
    if explained.standing != Standing::Infeasible {
        return Ok(vec![]);
    }
    let none = DetailPart { first: TaskNumber(1), last: TaskNumber(0), ..DetailPart::default() };
    let Some(piece) = server.job_details(job.id, none).next().await? else { return Ok(vec![]) };
    // Its place among others is of no interest then.
    let mut lines = why(&piece.detail, task, &explained);
    let count = 1 + lines.iter().skip(1).take_while(|line| line.starts_with("  ")).count();
    lines.truncate(count);
    Ok(lines)
}

/// Warns of tasks that did not finish. What cannot be found out any more is not told.
pub(crate) async fn tell_end(server: &Server, jobs: Selector) {
    match server.jobs(jobs).await {
        Ok(jobs) => unfinished(&jobs).iter().for_each(|text| warn!("{text}")),
        Err(CallError::Lost(_)) => {
            warn!("The server is gone: what was waited for may go on, and is followed no further")
        }
        Err(error) => debug!("the jobs that were waited for cannot be looked at: {error:#}"),
    }
}

/// How many tasks did not finish, and which command shows why.
fn unfinished(jobs: &[JobInfo]) -> Option<String> {
    let bad: Vec<&JobInfo> = jobs.iter().filter(|job| job.counts.ended() > job.counts.finished).collect();
    if bad.is_empty() {
        return None;
    }
    let counts: TaskCounts = bad.iter().map(|job| &job.counts).sum();
    let ends = [(TaskState::Failed, "failed"), (TaskState::Aborted, "aborted"), (TaskState::Canceled, "canceled")];
    let (parts, total) = (counted(&counts, &ends), counts.total());
    let ids = IdList::from_numbers(bad.iter().map(|job| job.id.0)).unwrap_or_default();
    let noun = if bad.len() == 1 { "job" } else { "jobs" };
    Some(format!("Not all tasks of {noun} {ids} finished: {}, of {total}; see `hq job info {ids}`", parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::samples;

    fn job(id: u32, [finished, failed, aborted, canceled]: [u64; 4]) -> JobInfo {
        let counts = TaskCounts { finished, failed, aborted, canceled, ..TaskCounts::default() };
        JobInfo { counts, ..samples::job(id) }
    }

    #[test]
    fn what_did_not_finish_is_counted_and_the_way_to_the_reason_named() {
        for (jobs, expected) in [
            (vec![], None),
            (vec![job(1, [3, 0, 0, 0])], None),
            (vec![job(1, [0, 3, 0, 0])], Some("Not all tasks of job 1 finished: 3 failed, of 3; see `hq job info 1`")),
            (
                vec![job(1, [1, 1, 2, 0]), job(2, [9, 0, 0, 0]), job(3, [0, 0, 0, 1])],
                Some(
                    "Not all tasks of jobs 1,3 finished: 1 failed, 2 aborted, 1 canceled, of 5; see `hq job info 1,3`",
                ),
            ),
        ] {
            assert_eq!(unfinished(&jobs).as_deref(), expected);
        }
    }
}

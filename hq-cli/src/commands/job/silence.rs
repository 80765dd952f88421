//! What people are told where `job cat` prints nothing.

use hq_core::{IdList, JobInfo, TaskCounts, TaskState};

use crate::{args::Channel, view::counted};

/// Why nothing was printed, of all these jobs together. Scripts are told nothing: to print nothing is no failure.
pub(super) fn why_silent(jobs: &[JobInfo], channel: Channel) -> String {
    let channel = channel.name();
    let counts: TaskCounts = jobs.iter().map(|job| &job.counts).sum();
    let parts = counted(
        &counts,
        &[
            (TaskState::Running, "still running"),
            (TaskState::Waiting, "waiting"),
            (TaskState::Failed, "failed"),
            (TaskState::Aborted, "aborted"),
            (TaskState::Canceled, "canceled"),
            (TaskState::Finished, "finished"),
        ],
    );
    let ids = IdList::from_numbers(jobs.iter().map(|job| job.id.0)).unwrap_or_default();
    let tasks = if parts.is_empty() { "no tasks".to_owned() } else { format!("tasks: {}", parts.join(", ")) };
    let see = if counts.ended() > counts.finished {
        format!("; see `hq job info {ids}`")
    } else if counts.waiting > 0 {
        format!("; see `hq job why {ids}`")
    } else {
        String::new()
    };
    format!("There is nothing in `{channel}` of job {ids} ({tasks}){see}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::samples;

    #[test]
    fn the_states_of_tasks_say_why() {
        let job = |id, counts| JobInfo { counts, ..samples::job(id) };
        let none = TaskCounts::default();
        for (jobs, expected) in [
            (vec![job(1, none)], "of job 1 (no tasks)"),
            (
                vec![job(1, TaskCounts { running: 1, finished: 2, ..none })],
                "of job 1 (tasks: 1 still running, 2 finished)",
            ),
            (vec![job(1, TaskCounts { waiting: 3, ..none })], "of job 1 (tasks: 3 waiting); see `hq job why 1`"),
            (
                vec![job(1, TaskCounts { failed: 1, ..none }), job(2, TaskCounts { waiting: 1, failed: 1, ..none })],
                "of job 1-2 (tasks: 1 waiting, 2 failed); see `hq job info 1-2`",
            ),
        ] {
            let said = why_silent(&jobs, Channel::Stdout);
            assert_eq!(said, format!("There is nothing in `stdout` {expected}"));
        }
    }
}

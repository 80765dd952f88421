use hq_core::{TaskCounts, TaskState};

/// Characters between the brackets of a bar.
const WIDTH: u64 = 40;
/// States worth telling, in the order in which they are told.
const TOLD: [TaskState; 5] =
    [TaskState::Running, TaskState::Failed, TaskState::Canceled, TaskState::Aborted, TaskState::Waiting];

/// How far tasks are: `#` for those that have ended.
pub(crate) fn bar(counts: &TaskCounts) -> String {
    let total = counts.total();
    let ended = total - counts.waiting - counts.running;
    // Rounded down: a full bar means that all have ended.
    let done = if total == 0 { WIDTH } else { (u128::from(ended) * u128::from(WIDTH) / u128::from(total)) as u64 };
    let part = |c: &str, n: u64| c.repeat(usize::try_from(n).unwrap_or_default());
    format!("[{}{}]", part("#", done), part(".", WIDTH - done))
}

/// How far jobs are: of `jobs`, `ended` have ended; `counts` are those of all their tasks.
pub(crate) fn progress_line(ended: usize, jobs: usize, counts: &TaskCounts) -> String {
    let total = counts.total();
    let done = total - counts.waiting - counts.running;
    let states = TOLD.into_iter().filter(|state| counts.of(*state) > 0);
    let states: String = states.map(|state| format!(" {} {}", counts.of(state), state.label())).collect();
    format!("{} {ended}/{jobs} jobs, {done}/{total} tasks{states}", bar(counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let counts = |waiting, running, finished, failed| TaskCounts {
            waiting,
            running,
            finished,
            failed,
            ..TaskCounts::default()
        };
        for (counts, ended, expected) in [
            (counts(0, 0, 0, 0), 1, "[########################################] 1/1 jobs, 0/0 tasks"),
            (counts(1, 0, 0, 0), 0, "[........................................] 0/1 jobs, 0/1 tasks 1 WAITING"),
            (
                counts(2, 1, 4, 1),
                0,
                "[#########################...............] 0/1 jobs, 5/8 tasks 1 RUNNING 1 FAILED 2 WAITING",
            ),
            (counts(0, 0, 7, 1), 1, "[########################################] 1/1 jobs, 8/8 tasks 1 FAILED"),
            (
                counts(1, 0, 999_999_999, 0),
                0,
                "[#######################################.] 0/1 jobs, 999999999/1000000000 tasks 1 WAITING",
            ),
        ] {
            assert_eq!(progress_line(ended, 1, &counts), expected);
        }
    }
}

use hq_core::{JobState, TaskCounts, TaskState};

use crate::output::{Cell, Color};

/// The state of a job.
pub(super) fn job_state_cell(state: JobState) -> Cell {
    job_color(state).map_or_else(|| state.label().into(), |color| Cell::colored(state.label(), color))
}

/// The colour of a state of jobs; an open one has none.
pub(crate) const fn job_color(state: JobState) -> Option<Color> {
    Some(match state {
        JobState::Running => Color::Yellow,
        JobState::Waiting => Color::Cyan,
        JobState::Failed => Color::Red,
        JobState::Aborted => Color::Blue,
        JobState::Canceled => Color::Magenta,
        JobState::Finished => Color::Green,
        JobState::Opened => return None,
    })
}

/// The colour of a state of tasks.
pub(crate) const fn task_color(state: TaskState) -> Color {
    match state {
        TaskState::Waiting => Color::Cyan,
        TaskState::Running => Color::Yellow,
        TaskState::Finished => Color::Green,
        TaskState::Failed => Color::Red,
        TaskState::Canceled => Color::Magenta,
        TaskState::Aborted => Color::Blue,
    }
}

/// How many tasks are in each of these states, in words, such as `3 failed`; nothing of those in which none is.
pub(crate) fn counted(counts: &TaskCounts, states: &[(TaskState, &str)]) -> Vec<String> {
    let some = states.iter().filter(|(state, _)| counts.of(*state) > 0);
    some.map(|(state, how)| format!("{} {how}", counts.of(*state))).collect()
}

/// The name of a state in JSON.
pub(super) const fn task_state_json(state: TaskState) -> &'static str {
    match state {
        TaskState::Waiting => "waiting",
        TaskState::Running => "running",
        TaskState::Finished => "finished",
        TaskState::Failed => "failed",
        TaskState::Canceled => "canceled",
        TaskState::Aborted => "aborted",
    }
}

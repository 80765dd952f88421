use std::borrow::Cow;

use hq_core::{JobState, TaskState};
use ratatui::style::{Color, Modifier, Style};

use crate::output::inert;

/// Characters of a text that are looked at: no line is as wide.
const TEXT_MAX: usize = 500;

/// `text` as it may be shown: nothing in it acts on the terminal, and it is not longer than any line.
pub(super) fn safe(text: &str) -> String {
    let cut: Cow<'_, str> = match text.char_indices().nth(TEXT_MAX) {
        Some((end, _)) => Cow::Owned(text[..end].to_owned()),
        None => Cow::Borrowed(text),
    };
    inert(&cut).into_owned()
}

/// The colour of a state of tasks.
pub(super) const fn task(state: TaskState) -> Color {
    match state {
        TaskState::Waiting => Color::Cyan,
        TaskState::Running => Color::Yellow,
        TaskState::Finished => Color::Green,
        TaskState::Failed => Color::Red,
        TaskState::Canceled => Color::Magenta,
        TaskState::Aborted => Color::Blue,
    }
}

/// The colour of a state of jobs.
pub(super) const fn job(state: JobState) -> Color {
    match state {
        JobState::Running => Color::Yellow,
        JobState::Waiting => Color::Cyan,
        JobState::Failed => Color::Red,
        JobState::Aborted => Color::Blue,
        JobState::Canceled => Color::Magenta,
        JobState::Finished => Color::Green,
        JobState::Opened => Color::Reset,
    }
}

/// That colour, where colours are used.
pub(super) fn colored(colors: bool, color: Color) -> Style {
    if colors { Style::new().fg(color) } else { Style::new() }
}

/// What stands out.
pub(super) fn strong() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

/// What stands back.
pub(super) fn faint() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

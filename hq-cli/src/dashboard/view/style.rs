use std::borrow::Cow;

use hq_core::{JobState, TaskState};
use ratatui::style::{Color, Modifier, Style};

use crate::{
    output::{self, inert},
    view::{job_color, task_color},
};

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
    shown(task_color(state))
}

/// The colour of a state of jobs.
pub(super) fn job(state: JobState) -> Color {
    job_color(state).map_or(Color::Reset, shown)
}

const fn shown(color: output::Color) -> Color {
    match color {
        output::Color::Red => Color::Red,
        output::Color::BrightRed => Color::LightRed,
        output::Color::Green => Color::Green,
        output::Color::Yellow => Color::Yellow,
        output::Color::Blue => Color::Blue,
        output::Color::Magenta => Color::Magenta,
        output::Color::Cyan => Color::Cyan,
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

use ratatui::{
    Frame,
    layout::Rect,
    text::Line,
    widgets::{Block, Paragraph},
};

use super::style::{faint, safe, strong};

/// Draws a frame with a title; says what is left inside. The one that keys move in stands out.
pub(super) fn pane(frame: &mut Frame<'_>, area: Rect, title: &str, has_focus: bool) -> Rect {
    let style = if has_focus { strong() } else { faint() };
    let block = Block::bordered().border_style(style).title(Line::styled(format!(" {} ", safe(title)), strong()));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    inner
}

/// Lines of `name: value`.
pub(super) fn entries(frame: &mut Frame<'_>, area: Rect, entries: &[(&str, String)]) {
    let width = entries.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines: Vec<Line<'_>> =
        entries.iter().map(|(name, value)| Line::raw(format!("{name:width$}  {}", safe(value)))).collect();
    frame.render_widget(Paragraph::new(lines), area);
}

/// A text in place of what is not there.
pub(super) fn nothing(frame: &mut Frame<'_>, area: Rect, text: &str) {
    frame.render_widget(Paragraph::new(text).style(faint()), area);
}

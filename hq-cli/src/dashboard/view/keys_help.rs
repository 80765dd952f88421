use ratatui::{
    Frame,
    layout::Rect,
    text::Line,
    widgets::{Block, Clear, Paragraph},
};

const KEYS: [(&str, &str); 13] = [
    ("j", "jobs and their tasks"),
    ("a", "queues and their allocations"),
    ("w", "workers"),
    ("arrows", "move in the list; page up and down, home, end"),
    ("tab, enter", "move in the tasks or allocations"),
    ("esc", "back to the list"),
    ("o, p", "look at an earlier, a later time"),
    ("k, l", "look at less, more time"),
    ("r", "back to the latest moment"),
    ("ctrl-l", "draw everything anew"),
    ("?", "these keys"),
    ("q", "quit"),
    ("", ""),
];

/// What keys do, over everything else.
pub(super) fn keys_help(frame: &mut Frame<'_>, area: Rect) {
    let height = area.height.min(KEYS.len() as u16 + 1);
    let width = area.width.min(66);
    let place = Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height };
    let lines: Vec<Line<'_>> = KEYS.iter().map(|(key, what)| Line::raw(format!(" {key:12}{what}"))).collect();
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title(" Keys ")), place);
}

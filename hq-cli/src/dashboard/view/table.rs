use ratatui::{
    Frame,
    layout::{Constraint, Rect},
    style::{Color, Style},
    widgets::{Cell, Row, Table},
};

use super::style::{colored, safe, strong};

/// A cell: its text, and its colour where it has one.
pub(super) type Field = (String, Option<Color>);

/// A plain cell.
pub(super) fn plain(text: impl ToString) -> Field {
    (text.to_string(), None)
}

/// A column: its title, how wide it is, and its rank. Where there is no room for all, the column of the highest rank goes first;
/// what is left over goes to that of rank 1.
pub(super) type Column = (&'static str, u16, u8);

/// Lines of a table that are shown, and how it is drawn.
pub(super) struct Lines {
    pub(super) columns: Vec<Column>,
    /// The lines, and which of them is chosen.
    pub(super) rows: Vec<(Vec<Field>, bool)>,
    pub(super) colors: bool,
}

/// Lines that fit into a table in that area.
pub(super) const fn height(area: Rect) -> u16 {
    area.height.saturating_sub(1)
}

impl Lines {
    /// Draws the titles and the lines; the chosen one has a mark.
    pub(super) fn draw(self, frame: &mut Frame<'_>, area: Rect) {
        let colors = self.colors;
        let ranks = fitting(&self.columns, area.width);
        let columns: Vec<Column> = self.columns.iter().filter(|(.., rank)| *rank < ranks).copied().collect();
        let cell = |(text, color): Field| {
            Cell::new(safe(&text)).style(color.map_or_else(Style::new, |color| colored(colors, color)))
        };
        let rows = self.rows.into_iter().map(|(fields, chosen)| {
            let mark = Cell::new(if chosen { ">" } else { "" });
            let fields = fields.into_iter().zip(&self.columns).filter(|(_, (.., rank))| *rank < ranks);
            let row = Row::new(std::iter::once(mark).chain(fields.map(|(field, _)| cell(field))));
            if chosen { row.style(strong()) } else { row }
        });
        let titles = std::iter::once("").chain(columns.iter().map(|(title, ..)| *title));
        let width = |(_, width, rank): &Column| match rank {
            1 => Constraint::Min(*width),
            _ => Constraint::Length(*width),
        };
        let widths = std::iter::once(Constraint::Length(1)).chain(columns.iter().map(width));
        frame.render_widget(Table::new(rows, widths).header(Row::new(titles).style(strong())), area);
    }
}

/// Columns of lower ranks than that have room, and one always.
fn fitting(columns: &[Column], width: u16) -> u8 {
    let room = |ranks: u8| -> u32 {
        let kept = columns.iter().filter(|(.., rank)| *rank < ranks);
        1 + kept.map(|(_, width, _)| u32::from(*width) + 1).sum::<u32>()
    };
    let all = columns.len() as u8;
    (1..=all).rev().find(|ranks| room(*ranks) <= u32::from(width)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matters_least_goes_first() {
        let columns = [("a", 5, 0), ("b", 5, 2), ("c", 5, 1)];
        for (width, ranks) in [(100, 3), (19, 3), (18, 2), (13, 2), (12, 1), (7, 1), (0, 1)] {
            assert_eq!(fitting(&columns, width), ranks, "{width}");
        }
    }
}

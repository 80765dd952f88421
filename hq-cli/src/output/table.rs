use super::{Cell, Line};

/// On which side of its column the text of a cell is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// On the left one.
    Left,
    /// On the right one.
    Right,
}

/// A table as scripts read it: `+-` begins a divider, `|` stands between cells, a row whose first cell is empty goes
/// on with the row above. Nothing is cut.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    header: Option<Vec<&'static str>>,
    align: Vec<Align>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Labels on the left, values on the right, no header.
    pub(crate) fn vertical() -> Self {
        Self { header: None, align: vec![Align::Left; 2], rows: vec![] }
    }

    /// A header above columns.
    pub(crate) fn horizontal(columns: &[(&'static str, Align)]) -> Self {
        let header = columns.iter().map(|(name, _)| *name).collect();
        Self { header: Some(header), align: columns.iter().map(|(_, align)| *align).collect(), rows: vec![] }
    }

    /// Adds a row of a horizontal table.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.align.len());
        self.rows.push(cells);
    }

    /// Adds a row of a vertical table.
    pub(crate) fn entry(&mut self, label: &str, value: impl Into<Cell>) {
        self.row(vec![label.into(), value.into()]);
    }

    /// Number of rows.
    pub(super) const fn len(&self) -> usize {
        self.rows.len()
    }

    /// Forgets the rows.
    pub(super) fn clear(&mut self) {
        self.rows.clear();
    }

    /// The drawing, each line ended.
    pub(crate) fn draw(&self, colors: bool) -> String {
        let widths = self.widths();
        self.draw_head(&widths, colors) + &self.draw_rows(&widths, colors) + &Self::divider(&widths)
    }

    /// What stands between rows of these widths.
    pub(super) fn divider(widths: &[usize]) -> String {
        widths.iter().map(|width| format!("+{}", "-".repeat(width + 2))).collect::<String>() + "+\n"
    }

    /// What stands above the rows.
    pub(super) fn draw_head(&self, widths: &[usize], colors: bool) -> String {
        let divider = Self::divider(widths);
        let mut text = divider.clone();
        if let Some(header) = &self.header {
            let header: Vec<Line> = header.iter().map(|name| Line::plain(name)).collect();
            let header: Vec<&Line> = header.iter().collect();
            self.draw_line(&mut text, &header, widths, &vec![Align::Left; widths.len()], colors);
            if !self.rows.is_empty() {
                text += &divider;
            }
        }
        text
    }

    /// The rows.
    pub(super) fn draw_rows(&self, widths: &[usize], colors: bool) -> String {
        let mut text = String::new();
        let empty = Line::default();
        for row in &self.rows {
            let height = row.iter().map(|cell| cell.0.len()).max().unwrap_or(0).max(1);
            for i in 0..height {
                let line: Vec<&Line> = row.iter().map(|cell| cell.0.get(i).unwrap_or(&empty)).collect();
                self.draw_line(&mut text, &line, widths, &self.align, colors);
            }
        }
        text
    }

    /// As wide as the widest lines.
    pub(super) fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = match &self.header {
            Some(header) => header.iter().map(|name| name.chars().count()).collect(),
            None => vec![0; self.align.len()],
        };
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.0.iter().map(Line::width).fold(*width, usize::max);
            }
        }
        widths
    }

    fn draw_line(&self, text: &mut String, line: &[&Line], widths: &[usize], align: &[Align], colors: bool) {
        for ((cell, width), align) in line.iter().zip(widths).zip(align) {
            let blanks = " ".repeat(width - cell.width().min(*width));
            let painted = cell.paint(colors);
            *text += &match align {
                Align::Left => format!("| {painted}{blanks} "),
                Align::Right => format!("| {blanks}{painted} "),
            };
        }
        *text += "|\n";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Color;

    #[test]
    fn a_header_without_rows_has_two_dividers() {
        let table = Table::horizontal(&[("ID", Align::Right), ("Name", Align::Left)]);
        assert_eq!(table.draw(false), "+----+------+\n| ID | Name |\n+----+------+\n");
    }

    #[test]
    fn lines_of_cells_stand_beside_each_other() {
        let mut table = Table::horizontal(&[("ID", Align::Right), ("Name", Align::Left)]);
        table.row(vec!["1".into(), "a\nlonger".into()]);
        table.row(vec!["100".into(), "".into()]);
        let expected = "\
+-----+--------+
| ID  | Name   |
+-----+--------+
|   1 | a      |
|     | longer |
| 100 |        |
+-----+--------+
";
        assert_eq!(table.draw(false), expected);
    }

    #[test]
    fn colours_do_not_shift_columns() {
        let mut table = Table::vertical();
        table.entry("State", Cell::colored("FAILED", Color::Red));
        table.entry("A", "x");
        let expected = "\
+-------+--------+
| State | \x1b[31mFAILED\x1b[0m |
| A     | x      |
+-------+--------+
";
        assert_eq!(table.draw(true), expected);
    }

    #[test]
    fn cells_are_inert() {
        let mut table = Table::vertical();
        table.entry("Name", "\x1b[2Jx\u{202e}");
        assert!(table.draw(false).contains("| \\u{1b}[2Jx\\u{202e} |"), "{}", table.draw(false));
    }

    #[test]
    fn a_bar_in_a_cell_does_not_take_the_line_apart() {
        let mut table = Table::vertical();
        table.entry("Name", "a | b");
        table.entry("Command", Cell(vec![Line::code("a | b")]));
        let expected = "\
+---------+------------+
| Name    | a \\u{7c} b |
| Command | a | b      |
+---------+------------+
";
        assert_eq!(table.draw(false), expected);
    }
}

use super::{Cell, Output, Table};

/// Rows that are kept, so that columns are as wide as their widest line.
const ROWS_MAX: usize = 10_000;

/// A horizontal table of any length. Past some thousand rows it is written as it comes: columns are then as wide as those rows
/// and the widths that are expected ask for.
pub(crate) struct LongTable {
    table: Table,
    expected: Vec<usize>,
    /// The widths, once something is written.
    widths: Option<Vec<usize>>,
}

impl LongTable {
    /// A table without rows yet, and how wide its columns may become.
    pub(crate) const fn new(table: Table, expected: Vec<usize>) -> Self {
        Self { table, expected, widths: None }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: Vec<Cell>, out: &mut Output) -> anyhow::Result<()> {
        self.table.row(cells);
        if self.table.len() < ROWS_MAX { Ok(()) } else { self.write(out) }
    }

    fn write(&mut self, out: &mut Output) -> anyhow::Result<()> {
        let colors = out.colors();
        let text = match &self.widths {
            Some(widths) => self.table.draw_rows(widths, colors),
            None => {
                let mut widths = self.table.widths();
                widths.iter_mut().zip(&self.expected).for_each(|(width, expected)| *width = (*width).max(*expected));
                let text = self.table.draw_head(&widths, colors) + &self.table.draw_rows(&widths, colors);
                self.widths = Some(widths);
                text
            }
        };
        self.table.clear();
        out.raw(text.as_bytes())
    }

    /// The table has no more rows.
    pub(crate) fn end(mut self, out: &mut Output) -> anyhow::Result<()> {
        if self.widths.is_none() {
            return out.table(&self.table);
        }
        self.write(out)?;
        let end = Table::divider(self.widths.as_deref().unwrap_or_default());
        out.raw(end.as_bytes())
    }
}

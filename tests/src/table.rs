/// A table as scripts read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Names of the columns; none in a vertical table.
    pub header: Vec<String>,
    /// Cells by row, their lines joined by newlines.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// All tables in an output.
    ///
    /// # Panics
    /// If a table is not drawn as tables are.
    pub fn all(text: &str) -> Vec<Self> {
        let (mut tables, mut part, mut parts) = (Vec::new(), Vec::new(), Vec::<Vec<Vec<String>>>::new());
        let mut open = false;
        let mut lines = text.lines().filter(|line| !line.starts_with('[')).peekable();
        while let Some(line) = lines.next() {
            if line.starts_with("+-") {
                if open {
                    parts.push(std::mem::take(&mut part));
                }
                open = true;
                // A table ends at a divider that no row follows.
                if !lines.peek().is_some_and(|next| next.starts_with('|')) && !parts.is_empty() {
                    tables.push(Self::from_parts(std::mem::take(&mut parts)));
                    open = false;
                }
            } else if open {
                let cells: Vec<_> = line.split('|').map(|cell| cell.trim().to_owned()).collect();
                assert!(cells.len() > 2, "not a row of a table: {line:?} in {text}");
                part.push(cells[1..cells.len() - 1].to_vec());
            } else {
                assert!(!line.contains('|'), "text outside of a table with a `|`: {line:?}");
            }
        }
        assert!(!open, "table without an end: {text}");
        tables
    }

    /// The only table in an output.
    ///
    /// # Panics
    /// If there is another number of them.
    pub fn one(text: &str) -> Self {
        let mut tables = Self::all(text);
        assert_eq!(tables.len(), 1, "one table expected: {text:?}");
        tables.remove(0)
    }

    /// The value beside a label of a vertical table.
    ///
    /// # Panics
    /// If there is no such row.
    #[track_caller]
    pub fn get(&self, label: &str) -> &str {
        let row = self.rows.iter().find(|row| row[0] == label);
        &row.unwrap_or_else(|| panic!("no row {label:?} in {self:?}"))[1]
    }

    /// The labels of a vertical table.
    pub fn labels(&self) -> Vec<&str> {
        self.rows.iter().map(|row| row[0].as_str()).collect()
    }

    /// The cells of a column.
    ///
    /// # Panics
    /// If there is no such column.
    #[track_caller]
    pub fn column(&self, name: &str) -> Vec<&str> {
        let column = self.header.iter().position(|head| head == name);
        let column = column.unwrap_or_else(|| panic!("no column {name:?} in {self:?}"));
        self.rows.iter().map(|row| row[column].as_str()).collect()
    }

    fn from_parts(mut parts: Vec<Vec<Vec<String>>>) -> Self {
        let is_header = |parts: &[Vec<Vec<String>>]| parts.len() == 2 || parts[0].len() == 1;
        let header = if is_header(&parts) { parts.remove(0).remove(0) } else { Vec::new() };
        let mut rows = Vec::<Vec<String>>::new();
        for cells in parts.into_iter().flatten() {
            match rows.last_mut() {
                Some(above) if cells[0].is_empty() => {
                    for (above, cell) in above.iter_mut().zip(cells).filter(|(_, cell)| !cell.is_empty()) {
                        above.push('\n');
                        above.push_str(&cell);
                    }
                }
                _ => rows.push(cells),
            }
        }
        Self { header, rows }
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn tables_are_told_apart() {
        let vertical = "+---+-----+\n| a | 1   |\n|   | two |\n| b | 3   |\n+---+-----+\n";
        let horizontal = "+---+---+\n| A | B |\n+---+---+\n| 1 |   |\n+---+---+\n";
        let empty = "+---+---+\n| A | B |\n+---+---+\nThere is no job.\n";
        let tables = Table::all(&format!("[log]\n{vertical}{horizontal}{empty}"));
        assert_eq!(tables.len(), 3);
        assert_eq!((tables[0].header.len(), tables[0].get("a"), tables[0].labels()), (0, "1\ntwo", vec!["a", "b"]));
        assert_eq!((tables[1].column("A"), tables[1].column("B")), (vec!["1"], vec![""]));
        assert_eq!((tables[2].header.join(" "), tables[2].rows.len()), ("A B".to_owned(), 0));
    }
}

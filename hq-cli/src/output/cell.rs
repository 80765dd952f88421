use super::{Color, inert};

/// A line of a cell: pieces of text, each maybe in a colour. The text is inert, and has no bars, at which readers of
/// tables take lines apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line(Vec<(String, Option<Color>)>);

impl Line {
    /// Text without colour.
    pub(crate) fn plain(text: &str) -> Self {
        Self(vec![(whole(text), None)])
    }

    /// Text that keeps its bars: a pipeline is to be read as it was written, as callers expect.
    pub(crate) fn code(text: &str) -> Self {
        Self(vec![(inert(text).into_owned(), None)])
    }

    /// Text in a colour.
    pub(crate) fn colored(text: &str, color: Color) -> Self {
        Self(vec![(whole(text), Some(color))])
    }

    /// The same with more text.
    #[must_use]
    pub(crate) fn then(mut self, text: &str, color: Option<Color>) -> Self {
        self.0.push((whole(text), color));
        self
    }

    /// Number of characters.
    pub(crate) fn width(&self) -> usize {
        self.0.iter().map(|(text, _)| text.chars().count()).sum()
    }

    /// The text, with the codes of its colours where `colors` are on.
    pub(crate) fn paint(&self, colors: bool) -> String {
        self.0
            .iter()
            .map(|(text, color)| match color {
                Some(color) if colors && !text.is_empty() => color.paint(text),
                _ => text.clone(),
            })
            .collect()
    }
}

fn whole(text: &str) -> String {
    inert(text).replace('|', "\\u{7c}")
}

/// A cell of a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell(pub(crate) Vec<Line>);

impl Cell {
    /// One line in a colour.
    pub(crate) fn colored(text: &str, color: Color) -> Self {
        Self(vec![Line::colored(text, color)])
    }

    /// The lines of `text`, or `None` as people read it.
    pub(crate) fn or_none(text: Option<impl ToString>) -> Self {
        text.map_or_else(|| Self::from("None"), |text| Self::from(text.to_string()))
    }
}

/// One line per line of the text.
impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self(text.lines().map(Line::plain).collect())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

/// One line per text; line ends inside a text begin a new line too.
impl FromIterator<String> for Cell {
    fn from_iter<I: IntoIterator<Item = String>>(texts: I) -> Self {
        let mut lines = Vec::new();
        for text in texts {
            let before = lines.len();
            lines.extend(text.lines().map(Line::plain));
            if lines.len() == before {
                lines.push(Line::default());
            }
        }
        Self(lines)
    }
}

use std::fmt;

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct TextError {
    /// Line, from 1.
    pub line: usize,
    /// Character in the line, from 1.
    pub column: usize,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.reason)
    }
}

impl TextError {
    /// At byte `at` of that line.
    pub(crate) fn new(line: usize, text: &str, at: usize, reason: impl Into<String>) -> Self {
        let column = text[..text.floor_char_boundary(at)].chars().count() + 1;
        Self { line, column, reason: reason.into() }
    }
}

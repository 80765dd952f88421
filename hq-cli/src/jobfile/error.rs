use std::ops::Range;

/// What is wrong with a job file, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {reason}")]
pub(crate) struct FileError {
    line: usize,
    column: usize,
    reason: String,
}

/// What is wrong with the bytes of a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bad {
    pub(super) span: Range<usize>,
    pub(super) reason: String,
}

impl Bad {
    pub(super) fn new(span: Range<usize>, reason: impl Into<String>) -> Self {
        Self { span, reason: reason.into() }
    }

    /// With the place in the text: lines and columns from 1, columns in characters.
    pub(super) fn locate(self, text: &str) -> FileError {
        let at = text.floor_char_boundary(self.span.start.min(text.len()));
        let line = text[..at].matches('\n').count() + 1;
        let begin = text[..at].rfind('\n').map_or(0, |end| end + 1);
        FileError { line, column: text[begin..at].chars().count() + 1, reason: self.reason }
    }
}

impl From<toml::de::Error> for Bad {
    fn from(error: toml::de::Error) -> Self {
        // It has several lines where a list of what is expected follows.
        let reason = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
        Self::new(error.span().unwrap_or_default(), reason)
    }
}
